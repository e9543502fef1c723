"""Commands under the heading "Schedulers and machines"."""
