"""The knowledge engine: objects, kinds, search and recall. Knows no mount, errno or command line."""
