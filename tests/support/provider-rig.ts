/** Helpers for provider tests: a target, a request, and streams in pieces of any size. */
import type { ChatEvent, ChatRequest } from '../../src/core/hub/chat.ts'
import type { ChatAdapter, Provider, Target } from '../../src/core/provider.ts'
import { frameSplitter } from '../../src/lib/frame-splitter.ts'
import { Secret } from '../../src/lib/secret.ts'

export function targetOf(provider: Provider, more: Partial<Target> = {}): Target {
  return {
    provider,
    model: 'up-model',
    baseUrl: provider.defaultBaseUrl ?? 'https://host.example',
    apiKey: new Secret('canary'),
    headers: {},
    options: {},
    ...more,
  }
}

export function chatRequest(more: Partial<ChatRequest> = {}): ChatRequest {
  return {
    model: 'public',
    stream: false,
    includeUsage: false,
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
    extra: { format: 'openai-chat', fields: {} },
    ...more,
  }
}

/** Joins the deltas of a block, so that streamed and non-streamed answers compare; generated call ids become `?`. */
export function joined(events: readonly ChatEvent[]): ChatEvent[] {
  const out: ChatEvent[] = []
  for (const event of events) {
    const last = out.at(-1)
    if (event.type === 'text' && last?.type === 'text') last.text += event.text
    else if (event.type === 'reasoning' && last?.type === 'reasoning') last.text = `${last.text}${event.text}`
    else if (event.type === 'tool-call-arguments' && last?.type === 'tool-call-arguments')
      last.fragment += event.fragment
    else if (event.type === 'tool-call-start' && /^call_[0-9a-f]{24}$/.test(event.id)) out.push({ ...event, id: '?' })
    else out.push({ ...event })
  }
  return out
}

/** The events of a stream whose bytes arrive `size` at a time. */
export function readStream(adapter: ChatAdapter, text: string, size: number): ChatEvent[] {
  const splitter = frameSplitter(adapter.framing)
  const read = adapter.reader()
  const bytes = Buffer.from(text)
  const events: ChatEvent[] = []
  for (let at = 0; at < bytes.length; at += size)
    for (const frame of splitter.push(bytes.subarray(at, at + size))) events.push(...read(frame))
  for (const frame of splitter.end()) events.push(...read(frame))
  return joined(events)
}

/** Server-sent events with names. */
export const namedEvents = (events: readonly object[]): string =>
  events.map(event => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

/** Server-sent events without names. */
export const dataEvents = (events: readonly object[]): string =>
  events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
