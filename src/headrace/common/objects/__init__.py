"""Where named objects are stored: one interface, its places, and the seal on what is stored."""
