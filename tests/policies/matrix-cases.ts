/**
 * Every call of the gateway by the operation of its endpoint, and every place of its input in which a text can stand.
 */
import type { Gateway } from '../e2e/harness.ts'

type Json = Record<string, any>

/** What a case is sent with. */
export interface Sender {
  readonly gateway: Gateway
  readonly key: string
  /** Prepared objects that some cases refer to. */
  readonly fixtures: Fixtures
}

/** Made once, without the word in any request. */
export interface Fixtures {
  readonly assistant: string
  readonly toolAssistant: string
  readonly batchFile: string
  /** With an answered question. */
  readonly conversation: { readonly id: string; readonly question: string }
  /** A stored response whose answer holds the text that is searched, and one whose answer does not. */
  readonly responses: Readonly<Record<string, string>>
}

/** Sends one call whose input holds `text` somewhere. `path` replaces the usual one, for the endpoint's other paths. */
export interface Case {
  readonly place: string
  send(sender: Sender, text: string, path?: string): Promise<Response>
}

const post = ({ gateway, key }: Sender, path: string, body: BodyInit | Json): Promise<Response> => {
  const isForm = body instanceof FormData
  return fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) },
    body: isForm || typeof body === 'string' ? (body as BodyInit) : JSON.stringify(body),
  })
}

/** Cases of one JSON path; a body may be a function of the text, by place. */
function jsonCases(path: string, base: Json, places: Record<string, (text: string) => Json>): Case[] {
  return Object.entries(places).map(([place, fieldsOf]) => ({
    place,
    send: (sender, text, other = path) => post(sender, other, { ...base, ...fieldsOf(text) }),
  }))
}

/** The same call with every letter of the text as a JSON escape. */
function escaped(path: string, base: Json, fieldsOf: (text: string) => Json): Case {
  return {
    place: 'escaped in JSON',
    send(sender, text, other = path) {
      const marked = JSON.stringify({ ...base, ...fieldsOf('@@') })
      const codes = [...text].map(letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
      return post(sender, other, marked.replaceAll('@@', codes.join('')))
    },
  }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const user = (content: unknown): Json => ({ role: 'user', content })
const ask = user('Hi')
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const schemaSaying = (description: string): Json => ({
  type: 'object',
  properties: { city: { type: 'string', description } },
  required: ['city'],
})

// ---- OpenAI's dialects

const chatTool = (more: Json): Json => ({
  type: 'function',
  function: { name: 'look_up', parameters: schemaSaying('of it'), ...more },
})
const toolCall = (text: string, args = '{"city":"Rome"}'): Json[] => [
  ask,
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look_up', arguments: args } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: text },
]

const chatPlaces: Record<string, (text: string) => Json> = {
  'user message': text => ({ messages: [user(text)] }),
  'user message, streamed': text => ({ messages: [user(text)], stream: true }),
  'system prompt': text => ({ messages: [{ role: 'system', content: text }, ask] }),
  'developer prompt': text => ({ messages: [{ role: 'developer', content: text }, ask] }),
  'second part': text => ({
    messages: [
      user([
        { type: 'text', text: 'one' },
        { type: 'text', text },
      ]),
    ],
  }),
  'earlier message': text => ({ messages: [user(text), { role: 'assistant', content: 'yes' }, ask] }),
  'earlier answer': text => ({ messages: [ask, { role: 'assistant', content: text }, ask] }),
  name: text => ({ messages: [{ ...ask, name: text.replaceAll(' ', '_') }] }),
  'tool description': text => ({ messages: [ask], tools: [chatTool({ description: text })] }),
  'tool name': text => ({ messages: [ask], tools: [chatTool({ name: text.replaceAll(' ', '_') })] }),
  'parameter description': text => ({ messages: [ask], tools: [chatTool({ parameters: schemaSaying(text) })] }),
  'tool result': text => ({ messages: toolCall(text), tools: [chatTool({})] }),
  'tool-call arguments': text => ({
    messages: toolCall('fine', JSON.stringify({ city: text })),
    tools: [chatTool({})],
  }),
  'escapes in tool-call arguments': text => ({
    messages: toolCall('fine', `{"city":"${[...text].map(one => `\\u00${one.charCodeAt(0).toString(16)}`).join('')}"}`),
    tools: [chatTool({})],
  }),
  'earlier reasoning': text => ({
    messages: [ask, { role: 'assistant', content: 'yes', reasoning_content: text }, ask],
  }),
  'schema of the answer': text => ({
    messages: [ask],
    response_format: { type: 'json_schema', json_schema: { name: 'place', schema: schemaSaying(text) } },
  }),
  'text document': text => ({
    messages: [
      user([
        { type: 'text', text: 'read' },
        { type: 'file', file: { filename: 'a.txt', file_data: `data:text/plain;base64,${base64(text)}` } },
      ]),
    ],
  }),
  'field that only this dialect knows': text => ({ messages: [ask], prediction: { type: 'content', content: text } }),
}

const inputItems = (...items: Json[]): Json => ({ input: [{ role: 'user', content: 'Hi' }, ...items] })
const responsesTool = (more: Json): Json => ({
  type: 'function',
  name: 'look_up',
  parameters: schemaSaying('of it'),
  ...more,
})
const functionCall = (args: string): Json => ({
  type: 'function_call',
  call_id: 'call_1',
  name: 'look_up',
  arguments: args,
})

const responsesPlaces: Record<string, (text: string) => Json> = {
  input: text => ({ input: text }),
  instructions: text => ({ input: 'Hi', instructions: text }),
  'input item': text => inputItems({ role: 'user', content: [{ type: 'input_text', text }] }),
  'tool description': text => ({ input: 'Hi', tools: [responsesTool({ description: text })] }),
  'parameter description': text => ({ input: 'Hi', tools: [responsesTool({ parameters: schemaSaying(text) })] }),
  'tool-call arguments': text =>
    inputItems(functionCall(JSON.stringify({ city: text })), {
      type: 'function_call_output',
      call_id: 'call_1',
      output: 'fine',
    }),
  'tool result': text =>
    inputItems(functionCall('{"city":"Rome"}'), { type: 'function_call_output', call_id: 'call_1', output: text }),
  'earlier reasoning': text =>
    inputItems(
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text }] },
      { role: 'assistant', content: 'yes' },
      { role: 'user', content: 'more' },
    ),
  'text document': text =>
    inputItems({
      role: 'user',
      content: [{ type: 'input_file', filename: 'a.txt', file_data: `data:text/plain;base64,${base64(text)}` }],
    }),
}

/** The stored answer that is continued holds the text. */
const continued = (path: string, base: Json): Case => ({
  place: 'earlier response',
  send: (sender, text, other = path) =>
    post(sender, other, { ...base, input: 'go on', previous_response_id: sender.fixtures.responses[text] }),
})

/** Refused at once; otherwise its end is waited for. */
const inBackground: Case = {
  place: 'background',
  async send(sender, text, path = '/v1/responses') {
    const response = await post(sender, path, { model: 'gpt', input: text, background: true })
    const made = (await response.json()) as Json
    let now = made
    while (['queued', 'in_progress'].includes(now.status)) {
      await Bun.sleep(5)
      const headers = { authorization: `Bearer ${sender.key}` }
      now = (await (await fetch(`${sender.gateway.url}/v1/responses/${made.id}`, { headers })).json()) as Json
    }
    return Response.json(now, { status: now.status === 'failed' ? 500 : response.status })
  },
}

// ---- Anthropic's and Gemini's

const claudeTool = (more: Json): Json => ({ name: 'look_up', input_schema: schemaSaying('of it'), ...more })
const toolUse = (input: Json, content: unknown): Json => ({
  tools: [claudeTool({})],
  messages: [
    ask,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look_up', input }] },
    user([{ type: 'tool_result', tool_use_id: 'toolu_1', content }]),
  ],
})
const documentOf = (source: Json, more: Json = {}): Json => ({
  messages: [
    user([
      { type: 'document', source, ...more },
      { type: 'text', text: 'read' },
    ]),
  ],
})

const messagesPlaces: Record<string, (text: string) => Json> = {
  'user message': text => ({ messages: [user(text)] }),
  'system prompt': text => ({ system: text, messages: [ask] }),
  'system blocks': text => ({
    system: [
      { type: 'text', text: 'be short' },
      { type: 'text', text },
    ],
    messages: [ask],
  }),
  'tool description': text => ({ messages: [ask], tools: [claudeTool({ description: text })] }),
  'parameter description': text => ({ messages: [ask], tools: [claudeTool({ input_schema: schemaSaying(text) })] }),
  'tool-call arguments': text => toolUse({ city: text }, 'fine'),
  'tool result': text => toolUse({ city: 'Rome' }, text),
  'tool result blocks': text => toolUse({ city: 'Rome' }, [{ type: 'text', text }]),
  'earlier thinking': text => ({
    messages: [
      ask,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: text, signature: 'c2ln' },
          { type: 'text', text: 'yes' },
        ],
      },
      ask,
    ],
  }),
  'text document': text => documentOf({ type: 'text', media_type: 'text/plain', data: text }),
  'content document': text => documentOf({ type: 'content', content: [{ type: 'text', text }] }),
  'document title': text => documentOf({ type: 'text', media_type: 'text/plain', data: 'page' }, { title: text }),
}

const contents = (...parts: Json[]): Json => ({ contents: [{ role: 'user', parts }] })
const geminiTool = (more: Json): Json => ({ tools: [{ functionDeclarations: [{ name: 'look_up', ...more }] }] })
const functionTurn = (args: Json, response: Json): Json => ({
  ...geminiTool({ parameters: schemaSaying('of it') }),
  contents: [
    { role: 'user', parts: [{ text: 'Hi' }] },
    { role: 'model', parts: [{ functionCall: { name: 'look_up', args } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'look_up', response } }] },
  ],
})

const geminiPlaces: Record<string, (text: string) => Json> = {
  content: text => contents({ text }),
  'second part': text => contents({ text: 'one' }, { text }),
  'system prompt': text => ({ ...contents({ text: 'Hi' }), systemInstruction: { parts: [{ text }] } }),
  'tool description': text => ({ ...contents({ text: 'Hi' }), ...geminiTool({ description: text }) }),
  'parameter description': text => ({
    ...contents({ text: 'Hi' }),
    ...geminiTool({ description: 'd', parameters: schemaSaying(text) }),
  }),
  'tool-call arguments': text => functionTurn({ city: text }, { ok: true }),
  'tool result': text => functionTurn({ city: 'Rome' }, { result: text }),
  'earlier thought': text => ({
    contents: [
      { role: 'user', parts: [{ text: 'Hi' }] },
      { role: 'model', parts: [{ text, thought: true }, { text: 'yes' }] },
      { role: 'user', parts: [{ text: 'more' }] },
    ],
  }),
  'text document': text => contents({ inlineData: { mimeType: 'text/plain', data: base64(text) } }, { text: 'read' }),
}

// ---- forms and files

function formCases(
  path: string,
  formOf: () => FormData,
  places: Record<string, (form: FormData, text: string) => void>,
): Case[] {
  return Object.entries(places).map(([place, put]) => ({
    place,
    send(sender, text, other = path) {
      const form = formOf()
      put(form, text)
      return post(sender, other, form)
    },
  }))
}

function formOf(fields: Record<string, string>, file?: [field: string, name: string, content: BlobPart]): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  if (file) form.append(file[0], new File([file[2]], file[1]))
  return form
}

const audioCases = (path: string): Case[] =>
  formCases(path, () => formOf({ model: 'hear' }), {
    prompt(form, text) {
      form.append('prompt', text)
      form.append('file', new File([pixel], 'sound.wav'))
    },
    'text file': (form, text) => form.append('file', new File([`WEBVTT ${text}`], 'sound.wav')),
  })

/** The text lies over each end of a piece in which a policy reads a file (256 Ki characters at most). */
const overBoundaries = (text: string): string => {
  const pieces = [256 * 1024, 255 * 1024, 2 * 255 * 1024, 512 * 1024]
  return pieces.map(end => `${'x'.repeat(end - Math.floor(text.length / 2))}${text}`).join('\n')
}

const lineOf = (url: string, body: Json): string =>
  `${JSON.stringify({ custom_id: 'one', method: 'POST', url, body })}\n`
/** A line of every allowed url, with the text in its input. */
const batchLines: Record<string, (text: string) => Json> = {
  '/v1/chat/completions': text => ({ model: 'batched', messages: [user(text)] }),
  '/v1/completions': text => ({ model: 'batched', prompt: ['one', text] }),
  '/v1/responses': text => ({ model: 'batched', input: text }),
  '/v1/embeddings': text => ({ model: 'batched-embed', input: ['one', text] }),
  '/v1/moderations': text => ({ model: 'batched-judge', input: text }),
  '/v1/images/generations': text => ({ model: 'batched-paint', prompt: text }),
  '/v1/images/edits': text => ({
    model: 'batched-paint',
    prompt: text,
    images: [{ image_url: 'https://a.example/b.png' }],
  }),
  '/v1/audio/transcriptions': text => ({ model: 'batched-hear', prompt: text, file_id: 'file-1' }),
  '/v1/audio/translations': text => ({ model: 'batched-hear', prompt: text, file_id: 'file-1' }),
}

const fileCases: Case[] = [
  ...formCases('/v1/files', () => formOf({ purpose: 'user_data', model: 'gpt' }), {
    'text file': (form, text) => form.append('file', new File([text], 'a.txt')),
    'over the pieces of a large file': (form, text) => form.append('file', new File([overBoundaries(text)], 'a.txt')),
    field(form, text) {
      form.append('note', text)
      form.append('file', new File(['page'], 'a.txt'))
    },
  }),
  ...formCases(
    '/v1/files',
    () => formOf({ purpose: 'batch', model: 'batched' }),
    Object.fromEntries(
      Object.entries(batchLines).flatMap(([url, bodyOf]) => [
        [
          `batch line of ${url}`,
          (form: FormData, text: string) => form.append('file', new File([lineOf(url, bodyOf(text))], 'a.jsonl')),
        ],
        [
          `escaped batch line of ${url}`,
          (form: FormData, text: string) => {
            const codes = [...text].map(letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
            form.append('file', new File([lineOf(url, bodyOf('@@')).replaceAll('@@', codes)], 'a.jsonl'))
          },
        ],
      ]),
    ),
  ),
]

// ---- runs

/** Waits for the end of a run; its failure is told as the status of a refused call. */
async function endOfRun({ gateway, key }: Sender, response: Response): Promise<Response> {
  let run = (await response.json()) as Json
  if (response.status !== 200) return Response.json(run, response)
  while (['queued', 'in_progress'].includes(run.status)) {
    await Bun.sleep(5)
    const headers = { authorization: `Bearer ${key}` }
    run = (await (await fetch(`${gateway.url}/v1/threads/${run.thread_id}/runs/${run.id}`, { headers })).json()) as Json
  }
  return Response.json(run, { status: run.status === 'failed' ? 400 : 200 })
}

const threadSaying = async (sender: Sender, text: string): Promise<string> =>
  ((await (await post(sender, '/v1/threads', { messages: [user(text)] })).json()) as Json).id as string

const runCases: Case[] = [
  {
    place: 'message of the thread',
    async send(sender, text) {
      const thread = await threadSaying(sender, text)
      return endOfRun(
        sender,
        await post(sender, `/v1/threads/${thread}/runs`, { assistant_id: sender.fixtures.assistant }),
      )
    },
  },
  ...['instructions', 'additional_instructions'].map(field => ({
    place: field,
    async send(sender: Sender, text: string) {
      const thread = await threadSaying(sender, 'Hi')
      const body = { assistant_id: sender.fixtures.assistant, [field]: text }
      return endOfRun(sender, await post(sender, `/v1/threads/${thread}/runs`, body))
    },
  })),
]

/** The end of the first answer to a message: a refused call ends it as failed. */
async function endOfAnswer({ gateway, key }: Sender, id: string, response: Response): Promise<Response> {
  const { answers } = (await response.json()) as { answers: { id: string }[] }
  const headers = { authorization: `Bearer ${key}` }
  const path = `/chat/conversations/${id}/messages/${answers[0]!.id}/events`
  const events = await (await fetch(`${gateway.url}${path}`, { headers })).text()
  const last = events.split('\n\n').findLast(event => event.startsWith('event: message'))!
  const message = JSON.parse(last.slice(last.indexOf('{'))) as Json
  const { error: last_error } = message.content as Json
  return Response.json({ last_error }, { status: message.status === 'failed' ? 400 : 200 })
}

async function newConversation(sender: Sender): Promise<string> {
  return ((await (await post(sender, '/chat/conversations', {})).json()) as Json).id as string
}

const conversationCase: Case = {
  place: 'text',
  async send(sender, text) {
    const id = await newConversation(sender)
    return endOfAnswer(sender, id, await post(sender, `/chat/conversations/${id}/messages`, { text, models: ['gpt'] }))
  },
}

const attachmentCase: Case = {
  place: 'attachment',
  async send(sender, text) {
    const id = await newConversation(sender)
    const attachments = [{ name: 'notes.txt', data: base64(text) }]
    const body = { text: 'Hi', models: ['gpt'], attachments }
    return endOfAnswer(sender, id, await post(sender, `/chat/conversations/${id}/messages`, body))
  },
}

const answerAgainCase: Case = {
  place: 'system_prompt',
  async send(sender, text) {
    const { gateway, key } = sender
    const { id, question } = sender.fixtures.conversation
    const headers = { authorization: `Bearer ${key}` }
    const body = JSON.stringify({ settings: { system_prompt: text } })
    await fetch(`${gateway.url}/chat/conversations/${id}`, { method: 'PATCH', headers, body })
    const path = `/chat/conversations/${id}/messages/${question}/answers`
    return endOfAnswer(sender, id, await post(sender, path, { models: ['gpt'] }))
  },
}

const toolOutputCase: Case = {
  place: 'output of a tool',
  async send(sender, text) {
    const thread = await threadSaying(sender, 'use the tool')
    const made = await post(sender, `/v1/threads/${thread}/runs`, { assistant_id: sender.fixtures.toolAssistant })
    const run = (await (await endOfRun(sender, made)).json()) as Json
    const [call] = run.required_action.submit_tool_outputs.tool_calls as Json[]
    const body = { tool_outputs: [{ tool_call_id: call!.id, output: text }] }
    return endOfRun(sender, await post(sender, `/v1/threads/${thread}/runs/${run.id}/submit_tool_outputs`, body))
  },
}

// ---- all

const gemini = (action: string): string => `/v1beta/models/flash:${action}`
const embedPath = (action: string): string => `/v1beta/models/embedder:${action}`
const claude = { model: 'claude', max_tokens: 100 }

/** By the operation of the endpoint (`EndpointDoc.operationId`). */
export const matrixCases: Readonly<Record<string, readonly Case[]>> = {
  createChatCompletion: [
    ...jsonCases('/v1/chat/completions', { model: 'chat' }, chatPlaces),
    escaped('/v1/chat/completions', { model: 'chat' }, text => ({ messages: [user(text)] })),
    ...jsonCases('/v1/chat/completions', { model: 'chat' }, { 'input of responses': text => ({ input: text }) }),
  ],
  createCompletion: [
    ...jsonCases(
      '/v1/completions',
      { model: 'chat' },
      {
        prompt: text => ({ prompt: text }),
        'second of several prompts': text => ({ prompt: ['one', text] }),
        suffix: text => ({ prompt: 'one', suffix: text }),
      },
    ),
    escaped('/v1/completions', { model: 'chat' }, text => ({ prompt: text })),
  ],
  createResponse: [
    ...jsonCases('/v1/responses', { model: 'gpt' }, responsesPlaces),
    inBackground,
    continued('/v1/responses', { model: 'gpt' }),
    escaped('/v1/responses', { model: 'gpt' }, text => ({ input: text })),
  ],
  countResponseInputTokens: [
    ...jsonCases(
      '/v1/responses/input_tokens',
      { model: 'gpt' },
      {
        input: text => ({ input: text }),
        instructions: text => ({ input: 'Hi', instructions: text }),
      },
    ),
    ...jsonCases(
      '/v1/responses/input_tokens',
      { model: 'chat' },
      { 'input that is estimated': text => ({ input: text }) },
    ),
    continued('/v1/responses/input_tokens', { model: 'gpt' }),
  ],
  compactResponse: [
    ...jsonCases(
      '/v1/responses/compact',
      { model: 'chat' },
      {
        input: text => ({ input: text }),
        instructions: text => ({ input: 'Hi', instructions: text }),
      },
    ),
    continued('/v1/responses/compact', { model: 'chat' }),
  ],
  createRun: runCases,
  createThreadAndRun: [
    {
      place: 'message of its thread',
      async send(sender, text) {
        const thread = { messages: [user(text)] }
        return endOfRun(
          sender,
          await post(sender, '/v1/threads/runs', { assistant_id: sender.fixtures.assistant, thread }),
        )
      },
    },
  ],
  submitToolOutputs: [toolOutputCase],
  createConversationMessage: [conversationCase, attachmentCase],
  createConversationAnswers: [answerAgainCase],
  createFile: fileCases,
  createBatch: [
    {
      place: 'metadata',
      send: (sender, text, path = '/v1/batches') =>
        post(sender, path, {
          input_file_id: sender.fixtures.batchFile,
          endpoint: '/v1/chat/completions',
          completion_window: '24h',
          metadata: { note: text },
        }),
    },
  ],
  createEmbeddings: [
    ...jsonCases(
      '/v1/embeddings',
      { model: 'embed' },
      {
        input: text => ({ input: text }),
        'second input': text => ({ input: ['one', text] }),
      },
    ),
    escaped('/v1/embeddings', { model: 'embed' }, text => ({ input: text })),
  ],
  createModeration: jsonCases(
    '/v1/moderations',
    { model: 'judge' },
    {
      input: text => ({ input: text }),
      'second input': text => ({ input: ['one', text] }),
      part: text => ({ input: [{ type: 'text', text }] }),
    },
  ),
  createImage: jsonCases('/v1/images/generations', { model: 'paint' }, { prompt: text => ({ prompt: text }) }),
  editImage: formCases('/v1/images/edits', () => formOf({ model: 'paint' }, ['image', 'a.png', pixel]), {
    prompt: (form, text) => form.append('prompt', text),
    'text in a picture': (form, text) => {
      form.append('prompt', 'blue')
      form.append('mask', new File([pixel, text], 'mask.png'))
    },
  }),
  createImageVariation: formCases('/v1/images/variations', () => formOf({ model: 'vary' }), {
    user(form, text) {
      form.append('user', text)
      form.append('image', new File([pixel], 'a.png'))
    },
    'text in the picture': (form, text) => form.append('image', new File([pixel, text], 'a.png')),
  }),
  createSpeech: jsonCases(
    '/v1/audio/speech',
    { model: 'speak', voice: 'alloy' },
    {
      input: text => ({ input: text }),
      instructions: text => ({ input: 'Hi', instructions: text }),
    },
  ),
  createTranscription: audioCases('/v1/audio/transcriptions'),
  createTranslation: audioCases('/v1/audio/translations'),
  createRerank: jsonCases(
    '/v1/rerank',
    { model: 'rank' },
    {
      query: text => ({ query: text, documents: ['one', 'two'] }),
      'second document': text => ({ query: 'one', documents: ['one', text] }),
      'document with fields': text => ({ query: 'one', documents: [{ title: 'a', text }] }),
    },
  ),
  createRerankV2: jsonCases(
    '/v2/rerank',
    { model: 'rank' },
    {
      query: text => ({ query: text, documents: ['one', 'two'] }),
      document: text => ({ query: 'one', documents: [text, 'two'] }),
    },
  ),
  createMessage: [
    ...jsonCases('/v1/messages', claude, messagesPlaces),
    escaped('/v1/messages', claude, text => ({ messages: [user(text)] })),
  ],
  countMessageTokens: jsonCases('/v1/messages/count_tokens', { model: 'claude' }, messagesPlaces),
  generateContent: [
    ...jsonCases(gemini('generateContent'), {}, geminiPlaces),
    escaped(gemini('generateContent'), {}, text => contents({ text })),
  ],
  streamGenerateContent: [
    ...jsonCases(gemini('streamGenerateContent'), {}, { 'array of answers': text => contents({ text }) }),
    ...jsonCases(gemini('streamGenerateContent?alt=sse'), {}, geminiPlaces),
  ],
  countContentTokens: jsonCases(
    gemini('countTokens'),
    {},
    {
      content: text => contents({ text }),
      'inner request': text => ({
        generateContentRequest: {
          model: 'models/flash',
          ...contents({ text: 'Hi' }),
          systemInstruction: { parts: [{ text }] },
        },
      }),
    },
  ),
  embedContent: jsonCases(embedPath('embedContent'), {}, { content: text => ({ content: { parts: [{ text }] } }) }),
  batchEmbedContents: jsonCases(
    embedPath('batchEmbedContents'),
    {},
    {
      'second content': text => ({
        requests: ['one', text].map(one => ({ model: 'models/embedder', content: { parts: [{ text: one }] } })),
      }),
    },
  ),
  countTokens: jsonCases(
    '/utils/token_counter?call_endpoint=true',
    { model: 'claude' },
    {
      message: text => ({ messages: [user(text)] }),
      prompt: text => ({ prompt: text }),
    },
  ),
}

/** Endpoints of POST that ask no model and send no file: what they keep is asked about when it is used. */
export const noCalls: ReadonlySet<string> = new Set([
  'cancelBatch',
  'cancelResponse',
  'cancelRun',
  'createAssistant',
  'createConversation',
  'createThread',
  'createThreadMessage',
  'updateAssistant',
  'updateRun',
  'updateThread',
  'updateThreadMessage',
  'refuseOtherModelAction',
  'transformRequest',
  'stopConversationAnswer',
  'relayMetrics',
  'relayLogs',
  'relayTraces',
  'sendMcpMessage',
  'callTool',
  'createToolServer',
])
