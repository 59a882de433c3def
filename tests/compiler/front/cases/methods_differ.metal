//@ rewrite
//? unsupported
//= 8 | int where() const device { return 2; }
//: 8:9: error: member function 'where' does different things in different address spaces, which is not supported
// Dropping one of the two would be silently wrong.
struct S {
    int where() const thread { return 1; }
    int where() const device { return 2; }
};
