"""Tables with named columns: CSV, Parquet, column maps, and tables that stand beside a log."""
