"""The order in which a keyed task reads blocks: values in, values out."""
