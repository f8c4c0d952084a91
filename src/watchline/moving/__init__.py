"""Objects and queries that move over a plane (SOLE)."""
