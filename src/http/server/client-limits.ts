/** How long a client is waited for, and how much of it is kept meanwhile. */

/** A client that says nothing between two requests is waited for that long. */
export const idleMs = 255_000
/** From the first byte of a head to its last; for the rest of a body that nobody wants; for a client to take a piece of its answer. */
export const stalledMs = 60_000
/** Sent after the request, while it is not answered: kept up to here, then the client has to wait. */
export const pipelinedBytesMax = 64 * 1024
/** The rest of a body that nobody wants is read up to here, so that the client gets to see its answer. */
export const discardedBytesMax = 64 * 1024 * 1024
/** More than this waits for the client: the upstream has to wait too. */
export const fullBytes = 256 * 1024
/** A client that is told goodbye may read for so long: bytes that nobody reads here would reset its connection. */
export const goodbyeMs = 2000
