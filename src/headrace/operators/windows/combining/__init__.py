"""Records of a window that are put together before they are sent."""
