/** An upstream that notes the truth of what its answers cost. */

/** US dollars for a token. */
export const inputPrice = 0.000001
/** US dollars for a token. */
export const outputPrice = 0.00001

/**
 * Answers with 10 input tokens and half of the output that was allowed, 100 at most; `spent` by the first message, from
 * the moment when a request has come. `answerMs` = how long an answer takes.
 */
export function startBillingUpstream(answerMs: () => number = () => 2) {
  const spent = new Map<string, number>()
  const maxima: unknown[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const body = (await request.json()) as { user?: string; max_tokens?: number; messages: { content: string }[] }
      maxima.push(body.max_tokens)
      const user = body.messages[0]!.content
      const output = Math.min(Math.floor((body.max_tokens ?? 200) / 2), 100)
      spent.set(user, (spent.get(user) ?? 0) + 10 * inputPrice + output * outputPrice)
      await Bun.sleep(answerMs())
      return Response.json({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: 'x '.repeat(output) }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: output, total_tokens: 10 + output },
      })
    },
  })
  return { url: `http://127.0.0.1:${server.port}/v1`, spent, maxima, stop: () => server.stop(true) }
}
