/** What a real server is asked through the gateway, and what its client must see. */
import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'bun:test'
import OpenAI from 'openai'
import type { LlamaServer } from './llama-server.ts'
import { until } from '../support/until.ts'

interface Rig {
  readonly gateway: string
  readonly key: string
  readonly chat: LlamaServer
  readonly embeddings: LlamaServer
}

const messages = (content: string) => [{ role: 'user' as const, content }]
const hello = messages('Say hello.')
/** About 4,000 tokens, twice what the server takes. */
const tooLong = 'word '.repeat(4000)
const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const tool = {
  type: 'function' as const,
  function: {
    name: 'set_timer',
    parameters: {
      type: 'object',
      properties: { minutes: { type: 'integer' } },
      required: ['minutes'],
      additionalProperties: false,
    },
  },
}

const openai = ({ gateway, key }: Rig) => new OpenAI({ baseURL: `${gateway}/v1`, apiKey: key, maxRetries: 0 })

/** The answer as it came, and how many attempts it took beyond the first. */
async function ask({ gateway, key }: Rig, path: string, body: object) {
  const response = await fetch(`${gateway}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const retries = Number(response.headers.get('x-proxy-attempted-retries') ?? 0)
  return { status: response.status, retries, text: await response.text() }
}

/** Nothing of what was refused before keeps the deployment from its next call. */
async function isServed(rig: Rig, model = 'small'): Promise<void> {
  const { status, text } = await ask(rig, '/v1/chat/completions', { model, messages: hello, max_tokens: 4 })
  expect([status, text.slice(0, 200)]).toEqual([200, expect.any(String)])
}

/** By what is shown of it. Each fails with what was expected and what came. */
export const cases: Readonly<Record<string, (rig: Rig) => Promise<void>>> = {
  async 'a whole answer has text, a finish reason and its usage'(rig) {
    const answer = await openai(rig).chat.completions.create({ model: 'small', messages: hello, max_tokens: 16 })
    expect(answer.choices[0]!.message.content).toBeTruthy()
    expect(['stop', 'length']).toContain(answer.choices[0]!.finish_reason)
    expect(answer.usage!.prompt_tokens).toBeGreaterThan(0)
    expect(answer.usage!.total_tokens).toBe(answer.usage!.prompt_tokens + answer.usage!.completion_tokens)
  },

  async 'a stream says the same as a whole answer, and ends'(rig) {
    const asked = { model: 'small', messages: hello, max_tokens: 16, temperature: 0, seed: 7 }
    const whole = await openai(rig).chat.completions.create(asked)
    let text = ''
    let finish: string | null = null
    let used = 0
    const stream = await openai(rig).chat.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    })
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ''
      finish = chunk.choices[0]?.finish_reason ?? finish
      used = chunk.usage?.completion_tokens ?? used
    }
    expect([text, finish, used]).toEqual([
      whole.choices[0]!.message.content!,
      whole.choices[0]!.finish_reason,
      whole.usage!.completion_tokens,
    ])
  },

  async 'tools, a call and its result reach the model, in its template and in the prompt, whole and streamed'(rig) {
    // A model of this size calls what it likes: what it says of tools has to be an answer, or a call of the tool.
    const call = {
      id: 'call_1',
      type: 'function' as const,
      function: { name: 'set_timer', arguments: '{"minutes":5}' },
    }
    const history = [
      ...messages('Set a timer of five minutes.'),
      { role: 'assistant' as const, content: null, tool_calls: [call] },
      { role: 'tool' as const, tool_call_id: 'call_1', content: '{"set":true}' },
    ]
    for (const model of ['small', 'prompted']) {
      const asked = { model, messages: history, tools: [tool], max_tokens: 48 }
      const whole = (await openai(rig).chat.completions.create(asked)).choices[0]!
      const streamed = (await openai(rig).chat.completions.stream(asked).finalChatCompletion()).choices[0]!
      for (const { message, finish_reason } of [whole, streamed]) {
        const named = (message.tool_calls ?? []).map(one => one.type === 'function' && one.function.name)
        expect(named.every(name => name === 'set_timer')).toBe(true)
        expect([model, Boolean(message.content) || named.length > 0]).toEqual([model, true])
        expect(['stop', 'length', 'tool_calls']).toContain(finish_reason)
      }
    }
  },

  async 'an answer by a schema is one of it'(rig) {
    const schema = {
      type: 'object',
      properties: { colour: { enum: ['red', 'green'] }, count: { type: 'integer' } },
      required: ['colour', 'count'],
      additionalProperties: false,
    }
    const { choices } = await openai(rig).chat.completions.create({
      model: 'small',
      messages: messages('A colour and a number as JSON.'),
      response_format: { type: 'json_schema', json_schema: { name: 'pair', schema, strict: true } },
      max_tokens: 64,
    })
    const value = JSON.parse(choices[0]!.message.content!) as { colour: string; count: number }
    expect(['red', 'green']).toContain(value.colour)
    expect(Number.isInteger(value.count)).toBe(true)
  },

  async 'clients of Messages, Responses and Gemini get words too'(rig) {
    const anthropic = new Anthropic({ baseURL: rig.gateway, apiKey: rig.key, maxRetries: 0 })
    const said = await anthropic.messages.stream({ model: 'small', max_tokens: 16, messages: hello }).finalText()
    expect(said).toBeTruthy()
    const response = await openai(rig).responses.create({ model: 'small', input: 'Say hello.', max_output_tokens: 16 })
    expect(response.output_text).toBeTruthy()
    const gemini = await ask(rig, '/v1beta/models/small:generateContent', {
      contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }],
      generationConfig: { maxOutputTokens: 16 },
    })
    expect([gemini.status, gemini.text.includes('"text"')]).toEqual([200, true])
  },

  async 'embeddings are the same as numbers and in base64'(rig) {
    const client = openai(rig)
    const input = ['one', 'two']
    const floats = await client.embeddings.create({ model: 'vectors', input, encoding_format: 'float' })
    const packed = await client.embeddings.create({ model: 'vectors', input })
    expect(floats.data.length).toBe(2)
    for (const [index, { embedding }] of floats.data.entries()) {
      expect(embedding.length).toBe(576)
      for (const [at, value] of embedding.entries()) expect(packed.data[index]!.embedding[at]!).toBeCloseTo(value, 4)
    }
  },

  async 'a prompt that is too long is refused once, in the words of each dialect, and cools nothing'(rig) {
    const chat = await ask(rig, '/v1/chat/completions', { model: 'small', messages: messages(tooLong) })
    expect([chat.status, chat.retries, JSON.parse(chat.text).error.code]).toEqual([400, 0, 'context_length_exceeded'])
    const claude = await ask(rig, '/v1/messages', { model: 'small', max_tokens: 9, messages: messages(tooLong) })
    expect([claude.status, claude.text.includes('prompt is too long')]).toEqual([400, true])
    const streamed = await ask(rig, '/v1/chat/completions', {
      model: 'small',
      messages: messages(tooLong),
      stream: true,
    })
    expect([streamed.status, streamed.text.includes('context_length_exceeded')]).toEqual([400, true])
    await isServed(rig)
  },

  async 'a prompt that is too long goes to the model with a larger context'(rig) {
    const { status, text } = await ask(rig, '/v1/chat/completions', {
      model: 'falls-back',
      messages: messages(tooLong),
    })
    expect([status, JSON.parse(text).choices.length]).toEqual([200, 1])
  },

  async 'a text that is too long to embed is refused once, and cools nothing'(rig) {
    const refused = await ask(rig, '/v1/embeddings', { model: 'vectors', input: tooLong })
    expect([refused.status, refused.retries]).toEqual([400, 0])
    expect((await ask(rig, '/v1/embeddings', { model: 'vectors', input: 'x' })).status).toBe(200)
  },

  async 'a picture for a model that reads text is refused once, and cools nothing'(rig) {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: picture } },
    ]
    const refused = await ask(rig, '/v1/chat/completions', { model: 'small', messages: [{ role: 'user', content }] })
    expect([refused.status, refused.retries]).toEqual([400, 0])
    expect(refused.text).toContain('image')
    await isServed(rig)
  },

  async 'a first event that is late ends the wait of a model with stream_timeout'(rig) {
    const long = messages('word '.repeat(1200))
    const { status, text } = await ask(rig, '/v1/chat/completions', {
      model: 'impatient',
      messages: long,
      stream: true,
    })
    expect([status, text.includes('within 0.05 s') || text.includes('stream_timeout')]).toEqual([408, true])
    await until(async () => (await rig.chat.busySlots()) === 0, 'the server has ended what was left')
  },

  async 'the server stops when the client leaves'(rig) {
    const controller = new AbortController()
    const asked = { model: 'small', messages: messages('Tell a very long story.'), max_tokens: 1500 }
    const stream = await openai(rig).chat.completions.create({ ...asked, stream: true }, { signal: controller.signal })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    expect(await rig.chat.busySlots()).toBe(1)
    controller.abort()
    await until(async () => (await rig.chat.busySlots()) === 0, 'the slot is free again', 5000)
  },

  async 'a server that is killed cuts the stream visibly, and serves again once it is back'(rig) {
    const asked = { model: 'small', messages: messages('Tell a very long story.'), max_tokens: 1500, stream: true }
    const response = await fetch(`${rig.gateway}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${rig.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    })
    let text = ''
    let isKilled = false
    for await (const piece of response.body!) {
      text += Buffer.from(piece).toString()
      if (isKilled || !text.includes('"content":"')) continue
      isKilled = true
      await rig.chat.kill()
    }
    expect([response.status, text.includes('"error"'), text.includes('[DONE]')]).toEqual([200, true, false])
    const down = await ask(rig, '/v1/chat/completions', { model: 'small', messages: hello, max_tokens: 4 })
    expect([503, 429]).toContain(down.status)
    await rig.chat.revive()
    await until(
      async () =>
        (await ask(rig, '/v1/chat/completions', { model: 'small', messages: hello, max_tokens: 4 })).status === 200,
      'the model is served again',
      90_000,
    )
  },
}
