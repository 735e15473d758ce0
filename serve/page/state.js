// What all views know of the server.

export const state = { classes: [], takesVotes: false, hasItems: false, model: "" };
