//@ check
//? source error
//: 4:17: error: missing terminating '"' character
const char *s = "abc;
