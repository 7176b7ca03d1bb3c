// How the loops over long rows are written for V8, which compiles a loop while it runs and a function when it is called. A loop compiled
// while it runs allocates a number for each addition. So a long row is cut into pieces, each a call of a small function that adds up in
// its own variables and hands on the sums. What such a function is told of its row comes in float64 arrays: other numbers, such as those of
// a float32 array, are converted for each element anew.

/** Elements of a piece: few enough to stay in the cache beside the tables of exp.ts. */
export const PIECE = 1024;
