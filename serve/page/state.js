// State of the server that all views share.

export const state = { classes: [], takesVotes: false, hasItems: false, model: "" };
