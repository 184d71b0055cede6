"""What is measured on a GPU: packs for other machines, this machine's own GPU, files of results."""
