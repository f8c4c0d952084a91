"""Moving objects against moving and stationary regions and nearest neighbours, through one grid."""
