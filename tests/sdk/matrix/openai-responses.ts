/** `openai` over responses. */
import OpenAI, { APIError } from 'openai'
import { askAboutPicture, askForTool, pixelUrl, toolResult, weatherTool } from './client.ts'
import type { Connect, Said } from './client.ts'

type Response = OpenAI.Responses.Response
type Input = OpenAI.Responses.ResponseInput

const tools = [{ type: 'function' as const, strict: false, ...weatherTool }] as unknown as OpenAI.Responses.Tool[]

function saidOf({ output_text: text, status, usage }: Response): Said {
  return {
    text,
    stopped: status === 'completed',
    inputTokens: usage?.input_tokens ?? -1,
    outputTokens: usage?.output_tokens ?? -1,
  }
}

export const openaiResponses: Connect = (url, key) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  const create = (model: string, input: string | Input, more: object = {}): Promise<Response> =>
    client.responses.create({ model, input, store: false, ...more }) as Promise<Response>
  return {
    name: 'openai (responses)',
    say: async (model, said) => saidOf(await create(model, said)),
    async stream({ model, said, signal, onText }) {
      const run = client.responses.stream({ model, input: said, store: false }, { signal })
      run.on('response.output_text.delta', event => onText(event.delta))
      const final = await run.finalResponse()
      // A response that failed is no error to this client.
      if (final.status === 'failed') throw new Error(final.error?.message)
      return saidOf(final)
    },
    async useTool(model, streamed) {
      const asked = streamed
        ? await client.responses.stream({ model, input: askForTool, tools, store: false }).finalResponse()
        : await create(model, askForTool, { tools })
      const call = asked.output.find(item => item.type === 'function_call')
      if (!call) throw new Error(`no call, but ${asked.output_text}`)
      const input = [
        { role: 'user', content: askForTool },
        ...asked.output,
        { type: 'function_call_output', call_id: call.call_id, output: toolResult },
      ] as Input
      const answered = await create(model, input, { tools })
      return { city: (JSON.parse(call.arguments) as { city?: unknown }).city, answer: answered.output_text }
    },
    async see(model) {
      const content = [
        { type: 'input_text', text: askAboutPicture },
        { type: 'input_image', image_url: pixelUrl, detail: 'auto' },
      ]
      return (await create(model, [{ role: 'user', content }] as Input)).output_text
    },
    statusOf: error => (error instanceof APIError ? error.status : undefined),
  }
}
