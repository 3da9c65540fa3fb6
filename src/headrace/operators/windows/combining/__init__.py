"""Pre-aggregation of windows: records are combined by key and pane before they are sent."""
