/** Time limits and buffer sizes of a client's connection; docs/connections.md lists them by phase. */

/** Idle time between two requests (keep-alive). */
export const keepAliveTimeoutMs = 255_000
/**
 * The time for a whole head, counted from its first byte; for a connection's first request; for the rest of a body that
 * is discarded; and for a client to take at least one byte of what is sent, or all of it where no key was needed.
 */
export const stallTimeoutMs = 60_000
/** Pipelined bytes that are buffered behind a request without an answer; beyond them reading pauses (backpressure). */
export const pipelinedBytesMax = 64 * 1024
/** So much of an unread body is discarded, so that the client reads its answer; beyond it the client is cut. */
export const discardedBytesMax = 64 * 1024 * 1024
/** So much of it is read at once; the rest at the pace of `DiscardPace`. */
export const unpacedBytesMax = 512 * 1024
/** The same for a request without a valid key, and for what arrives while a connection closes: more is not read. */
export const unauthenticatedBytesMax = 64 * 1024
/** High-water mark of the send queue: beyond it the upstream has to wait for the client. */
export const sendHighWaterBytes = 256 * 1024
/**
 * How long a lingering close waits for the client's FIN (RFC 9112, 9.6), and a request without a valid key for the rest
 * of its body.
 */
export const lingerMs = 2000
/** In a phase that may be evicted for less than this, a connection stays: its client is new, or about to go on. */
export const evictableAfterMs = 1000
/** The same for a client with a valid key that does not send its body, or does not read its answer. */
export const stalledEvictableAfterMs = 10_000
