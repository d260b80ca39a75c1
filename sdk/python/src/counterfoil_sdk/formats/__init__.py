"""The formats of docs/formats, one module each."""
