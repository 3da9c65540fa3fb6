"""What connectors of servers share: their libraries, outages, and addresses without secrets."""
