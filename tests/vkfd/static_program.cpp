// Linked statically, so that a preload library does not reach it: `aql vgpu` says so.
int main() { return 5; }
