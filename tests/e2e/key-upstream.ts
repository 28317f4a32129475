/** An upstream that answers every chat and keeps the key of each: the simulator's log shows none. */
export function startKeyUpstream() {
  const keys: (string | null)[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      keys.push(request.headers.get('authorization'))
      const { model } = (await request.json()) as { model: string }
      return Response.json({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model,
        choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      })
    },
  })
  return { url: `http://127.0.0.1:${server.port}/v1`, keys, stop: () => server.stop(true) }
}
