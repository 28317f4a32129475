/** Events of a stream, as the answer of a model sends them. */

/** One event: its `data` lines joined, and its name; empty = it has none. */
export interface ServerSentEvent {
  readonly name: string
  readonly data: string
}

/** The events of a body as they come. Ends where the body ends; rejects when it breaks off or is aborted. */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  let name = ''
  let data: string[] = []
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines.map(one => one.replace(/\r$/, ''))) {
        if (line.startsWith('data:')) data.push(line.slice('data:'.length).replace(/^ /, ''))
        else if (line.startsWith('event:')) name = line.slice('event:'.length).trim()
        else if (line === '') {
          if (data.length > 0) yield { name, data: data.join('\n') }
          name = ''
          data = []
        }
      }
    }
  } finally {
    // Of a stream that is left early nothing more is fetched.
    reader.cancel().catch(() => undefined)
  }
}
