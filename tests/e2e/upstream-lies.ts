/** What upstreams say that is not true, in each of their dialects: the rows of `upstream-lies.test.ts`. */

/** How one dialect of upstreams writes the parts of a stream, and a whole answer. */
export interface Dialect {
  readonly start: string
  text(words: string, finish?: unknown): string
  /** A finish reason, without words. */
  finish(reason: unknown): string
  /** '' = it comes with the finish reason. */
  readonly usage: string
  /** '' = the dialect has no terminal event. */
  readonly terminal: string
  /** `choices` = what stands in the place of the choices, `candidates` or content; `finish` = the finish reason. */
  whole(parts: { finish?: unknown; choices?: unknown; more?: object }): object
}

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`
const named = (data: { type: string }): string => `event: ${data.type}\n${event(data)}`

const chunk = (more: object): string =>
  event({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'up', ...more })
const openaiUsage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
const openai: Dialect = {
  start: chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] }),
  text: (content, finish_reason = null) => chunk({ choices: [{ index: 0, delta: { content }, finish_reason }] }),
  finish: finish_reason => chunk({ choices: [{ index: 0, delta: {}, finish_reason }] }),
  usage: chunk({ choices: [], usage: openaiUsage }),
  terminal: 'data: [DONE]\n\n',
  whole: ({ finish = 'stop', choices, more }) => ({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'up',
    choices:
      choices === undefined
        ? [{ index: 0, message: { role: 'assistant', content: 'true words' }, finish_reason: finish }]
        : choices,
    usage: openaiUsage,
    ...more,
  }),
}

const completions: Dialect = {
  ...openai,
  start: '',
  text: (text, finish_reason = null) => chunk({ choices: [{ index: 0, text, finish_reason }] }),
  finish: finish_reason => chunk({ choices: [{ index: 0, text: '', finish_reason }] }),
  whole: parts => ({
    ...openai.whole(parts),
    ...(parts.choices === undefined && {
      choices: [{ index: 0, text: 'true words', finish_reason: parts.finish === undefined ? 'stop' : parts.finish }],
    }),
  }),
}

const message = (more: object): object => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'up',
  stop_sequence: null,
  usage: { input_tokens: 7, output_tokens: 3 },
  ...more,
})
const anthropic: Dialect = {
  start:
    named({ type: 'message_start', ...{ message: message({ content: [], stop_reason: null }) } }) +
    named({ type: 'content_block_start', ...{ index: 0, content_block: { type: 'text', text: '' } } }),
  text: text => named({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text } } }),
  finish: reason =>
    named({ type: 'content_block_stop', ...{ index: 0 } }) +
    named({ type: 'message_delta', ...{ delta: { stop_reason: reason }, usage: { output_tokens: 3 } } }),
  usage: '',
  terminal: named({ type: 'message_stop' }),
  whole: ({ finish = 'end_turn', choices, more }) =>
    message({
      content: choices === undefined ? [{ type: 'text', text: 'true words' }] : choices,
      stop_reason: finish,
      ...more,
    }),
}

const candidates = (parts: unknown[], finishReason?: unknown): string =>
  event({
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
    modelVersion: 'up',
  })
const gemini: Dialect = {
  start: '',
  text: (text, finish) => candidates([{ text }], finish),
  finish: reason => candidates([], reason),
  usage: '',
  terminal: '',
  whole: ({ finish = 'STOP', choices, more }) => ({
    candidates:
      choices === undefined
        ? [{ index: 0, content: { role: 'model', parts: [{ text: 'true words' }] }, finishReason: finish }]
        : choices,
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
    modelVersion: 'up',
    ...more,
  }),
}

/** By the name of the models of `upstream-lies.test.ts` that speak it. */
export const dialects: Readonly<Record<string, Dialect>> = { openai, completions, anthropic, gemini }

/** A row: what is streamed, and whether it is an answer. */
export interface StreamLie {
  readonly name: string
  /** Undefined = it cannot be said in this dialect. */
  stream(dialect: Dialect): string | undefined
  /** The connection stays open behind it. */
  readonly open?: true
  readonly verdict: 'complete' | 'failed'
  /** Content has gone out before it shows: no other deployment can answer. */
  readonly late?: true
  /** Words of the upstream that the client has to see. */
  readonly says?: string
}

const stop = (dialect: Dialect): unknown => (dialect === anthropic ? 'end_turn' : dialect === gemini ? 'STOP' : 'stop')
const begun = (dialect: Dialect): string => dialect.start + dialect.text('true ') + dialect.text('words')
const ended = (dialect: Dialect): string => dialect.finish(stop(dialect)) + dialect.usage + dialect.terminal
const chatOnly = (dialect: Dialect): boolean => dialect === openai || dialect === completions

export const streamLies: readonly StreamLie[] = [
  { name: 'the truth', stream: d => begun(d) + ended(d), verdict: 'complete' },
  {
    name: 'an empty finish reason in every chunk, no terminal event',
    stream: d => d.start + d.text('true ', '') + d.text('words', '') + d.finish(''),
    verdict: 'failed',
    late: true,
  },
  {
    name: 'an empty finish reason, then the terminal event',
    stream: d => begun(d) + d.finish('') + d.usage + d.terminal,
    verdict: 'failed',
    late: true,
  },
  {
    name: 'a finish reason that stays null',
    stream: d => begun(d) + d.finish(null) + d.usage + d.terminal,
    verdict: 'failed',
    late: true,
  },
  { name: 'no finish reason at all', stream: d => begun(d) + d.usage + d.terminal, verdict: 'failed', late: true },
  { name: 'a terminal event and nothing else', stream: d => d.terminal || undefined, verdict: 'failed' },
  { name: 'nothing at all', stream: () => '', verdict: 'failed' },
  { name: 'comments alone', stream: () => ': ping\n\n'.repeat(20), verdict: 'failed' },
  {
    name: 'comments between the events',
    stream: d => `: ping\n\n${begun(d)}: ping\n\n${ended(d)}`,
    verdict: 'complete',
  },
  { name: 'no blank line behind the last event', stream: d => (begun(d) + ended(d)).trimEnd(), verdict: 'complete' },
  {
    name: 'an error as JSON without a field name',
    stream: d => `${begun(d)}{"error":{"code":503,"message":"no seats left","status":"UNAVAILABLE"}}`,
    verdict: 'failed',
    late: true,
    says: 'no seats left',
  },
  {
    name: 'a chunk that is no JSON, in braces',
    stream: d => `${begun(d)}data: {"id":"c", oops}\n\n${ended(d)}`,
    verdict: 'failed',
    late: true,
  },
  { name: 'a first chunk that is no JSON', stream: d => `data: {'id': 'c'}\n\n${ended(d)}`, verdict: 'failed' },
  { name: 'an array for a chunk', stream: d => `${begun(d)}data: [1]\n\n${ended(d)}`, verdict: 'failed', late: true },
  {
    name: 'chunks without a choice',
    stream: d =>
      chatOnly(d)
        ? [chunk({ choices: [] }), chunk({ choices: null }), chunk({}), d.usage, d.terminal].join('')
        : undefined,
    verdict: 'failed',
  },
  {
    name: 'a choice that is no object',
    stream: d => (chatOnly(d) ? chunk({ choices: [null] }) + ended(d) : undefined),
    verdict: 'failed',
  },
  {
    name: 'chunks without a choice around a real answer, as for filters and usage',
    stream: d =>
      chatOnly(d)
        ? event({ choices: [], id: '', model: '', prompt_filter_results: [{ prompt_index: 0 }] }) + begun(d) + ended(d)
        : undefined,
    verdict: 'complete',
  },
  {
    name: 'a `detail` before the finish',
    stream: d => begun(d) + event({ detail: 'the engine died' }) + ended(d),
    verdict: 'failed',
    late: true,
    says: 'the engine died',
  },
  {
    name: 'a `detail` at the beginning',
    stream: d => event({ detail: 'the engine died' }) + d.terminal,
    verdict: 'failed',
    says: 'the engine died',
  },
  {
    name: 'an error before the finish',
    stream: d => begun(d) + event({ error: { message: 'the engine died' } }) + ended(d),
    verdict: 'failed',
    late: true,
    says: 'the engine died',
  },
  {
    name: 'an error at the beginning',
    stream: d => event({ error: { message: 'the engine died' } }) + d.terminal,
    verdict: 'failed',
    says: 'the engine died',
  },
  {
    name: 'everything but the terminal event, and an open connection',
    stream: d => (d.terminal ? begun(d) + d.finish(stop(d)) + d.usage : undefined),
    open: true,
    verdict: 'complete',
  },
  {
    name: 'everything but the terminal event, and an end',
    stream: d => begun(d) + d.finish(stop(d)) + d.usage,
    verdict: 'complete',
  },
  {
    name: 'usage behind the terminal event',
    stream: d => (d.usage ? begun(d) + d.finish(stop(d)) + d.terminal + d.usage : undefined),
    verdict: 'complete',
  },
  {
    name: 'a finish reason twice',
    stream: d => begun(d) + d.finish(stop(d)) + ended(d),
    verdict: 'complete',
  },
  {
    name: 'content behind the finish reason',
    stream: d =>
      d === gemini ? undefined : begun(d) + d.finish(stop(d)) + d.text('false words') + d.usage + d.terminal,
    verdict: 'failed',
    late: true,
  },
]

/** A row: the body of a whole answer. */
export interface WholeLie {
  readonly name: string
  body(dialect: Dialect): string
  readonly verdict: 'complete' | 'failed'
}

/** Larger than what is read as one text. */
const padding = { padding: 'x'.repeat(100_000) }
const wholeOf = (parts: Parameters<Dialect['whole']>[0]) => (dialect: Dialect) => JSON.stringify(dialect.whole(parts))

export const wholeLies: readonly WholeLie[] = [
  { name: 'the truth', body: wholeOf({}), verdict: 'complete' },
  { name: 'the truth at length', body: wholeOf({ more: padding }), verdict: 'complete' },
  { name: 'no finish reason', body: wholeOf({ finish: null }), verdict: 'failed' },
  { name: 'an empty finish reason', body: wholeOf({ finish: '' }), verdict: 'failed' },
  { name: 'an empty finish reason, at length', body: wholeOf({ finish: '', more: padding }), verdict: 'failed' },
  { name: 'null instead of an answer', body: wholeOf({ choices: null }), verdict: 'failed' },
  { name: 'a text instead of an answer', body: wholeOf({ choices: 'words' }), verdict: 'failed' },
  { name: 'null instead of an answer, at length', body: wholeOf({ choices: null, more: padding }), verdict: 'failed' },
  { name: 'an error', body: () => '{"error":{"message":"the engine died"}}', verdict: 'failed' },
  { name: 'a detail', body: () => '{"detail":"the engine died"}', verdict: 'failed' },
  { name: 'half of it', body: d => JSON.stringify(d.whole({})).slice(0, -30), verdict: 'failed' },
  {
    name: 'no JSON, deep inside and at length',
    body: d => JSON.stringify(d.whole({ more: padding })).replace('true words"', 'true words" oops'),
    verdict: 'failed',
  },
  { name: 'a page', body: () => '<html>busy</html>', verdict: 'failed' },
  { name: 'an array', body: () => '[]', verdict: 'failed' },
  { name: 'null', body: () => 'null', verdict: 'failed' },
  { name: 'nothing', body: () => '', verdict: 'failed' },
]
