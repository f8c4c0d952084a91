"""Watchline: standing queries over live data."""
