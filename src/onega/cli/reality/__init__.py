"""Commands under the heading "Against reality"."""
