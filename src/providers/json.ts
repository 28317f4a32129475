/** Checks that the readers of several vendors share. */
