"""The knowledge engine: kinds, engrams, search, recall. Knows no mount, errno or command line."""
