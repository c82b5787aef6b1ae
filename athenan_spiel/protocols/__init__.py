"""Clients and servers for GTP, UCI and AEI, and readers and writers for SGF and PGN."""
