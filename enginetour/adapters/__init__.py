"""UCI and CECP engines behind one narrow protocol."""
