/** How clients of four dialects ask, and what they read of an error: for `refusals.test.ts`. */

/** What a client reads of an error; undefined = its dialect does not say it there. */
export interface ReadError {
  readonly status: number | undefined
  readonly code: string | undefined
  readonly message: string
}

interface Client {
  request(model: string, stream: boolean): { readonly path: string; readonly body: object }
  /** `inStream` = the error is the last event of a stream. */
  errorIn(text: string, inStream: boolean): ReadError
}

const messages = [{ role: 'user', content: 'hi' }]

/** The last event of a stream that holds an error, else the body. */
function objectIn(text: string, inStream: boolean): any {
  if (!inStream) return JSON.parse(text)
  const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json!))
  return events.findLast(event => event.error || event.response?.error || event.type === 'error') ?? {}
}

/** The dialects' names. */
export const clientNames = ['chat', 'responses', 'messages', 'gemini'] as const
/** One of them. */
export type ClientName = (typeof clientNames)[number]

/** By their names. */
export const clients: Readonly<Record<ClientName, Client>> = {
  chat: {
    request: (model, stream) => ({ path: '/v1/chat/completions', body: { model, messages, stream } }),
    errorIn(text, inStream) {
      const { error = {} } = objectIn(text, inStream)
      return { status: undefined, code: error.code, message: error.message ?? '' }
    },
  },
  responses: {
    request: (model, stream) => ({ path: '/v1/responses', body: { model, input: 'hi', stream } }),
    errorIn(text, inStream) {
      const body = objectIn(text, inStream)
      const error = body.response?.error ?? body.error ?? body
      // A failed Response has codes of its own.
      const code = inStream && error.code !== 'context_length_exceeded' ? undefined : error.code
      return { status: undefined, code, message: error.message ?? '' }
    },
  },
  messages: {
    request: (model, stream) => ({ path: '/v1/messages', body: { model, max_tokens: 50, messages, stream } }),
    errorIn(text, inStream) {
      const { error = {} } = objectIn(text, inStream)
      return { status: undefined, code: undefined, message: error.message ?? '' }
    },
  },
  gemini: {
    request: (model, stream) => ({
      path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    }),
    errorIn(text, inStream) {
      const { error = {} } = objectIn(text, inStream)
      return { status: error.code, code: error.details?.[0]?.reason?.toLowerCase(), message: error.message ?? '' }
    },
  },
}
