"""What connectors of servers share: their libraries, and addresses without secrets."""
