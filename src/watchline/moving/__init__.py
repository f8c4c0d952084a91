"""Queries that move, and nearest neighbours."""
