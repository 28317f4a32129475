/** Content type and keep-alive bytes of a dialect's streams. */
import type { Format } from '../../core/format.ts'

/** `heartbeat` is sent to a client after a while without data; empty = nothing may be sent. */
export interface StreamEncoding {
  readonly contentType: string
  readonly heartbeat: string
}

const eventStream: StreamEncoding = { contentType: 'text/event-stream; charset=utf-8', heartbeat: ': keep-alive\n\n' }

/** `given` = the content type of the upstream, for dialects that pass it on. */
export function streamingOf({ streaming = eventStream }: Format, given = ''): StreamEncoding {
  if (streaming !== 'as-upstream') return streaming
  return {
    contentType: given,
    heartbeat: given.toLowerCase().startsWith('text/event-stream') ? eventStream.heartbeat : '',
  }
}
