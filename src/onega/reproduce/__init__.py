"""The tables and figures of published work again, ours beside the printed values (layer: app)."""
