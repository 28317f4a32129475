/** A whole answer as a Message (platform.claude.com/docs/en/api/messages, "Message"). */
import { brokenProtocol } from '../../core/errors.ts'
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import { argumentsObject } from '../../core/hub/tool-arguments.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { answerId } from '../common/answer-id.ts'
import { BlockSequence } from './blocks.ts'
import type { Step } from './blocks.ts'
import { thinkingDisplay } from './decode.ts'
import { usageObject } from './usage.ts'
import type { Json } from '../../lib/json/json-values.ts'

/** What a message says of itself before it says anything. */
export function messageHead(id: string, model: string): Json {
  return { id: answerId('msg_', id), type: 'message', role: 'assistant', model }
}

/** Throws the answer's own error, and `upstream-broken` when it never ended. */
export function encodeMessage(events: readonly ChatEvent[], model: string, request: ChatRequest): object {
  const blocks = new BlockSequence(thinkingDisplay(request))
  const content = new ContentList()
  let id = ''
  let usage: Usage | undefined
  for (const event of events) {
    if (event.type === 'start') id = event.id
    else if (event.type === 'usage') usage = event.usage
    else if (event.type === 'error') throw event.error
    // A message has one choice; clients of this dialect cannot ask for more.
    else if (event.choice === 0) for (const step of blocks.take(event)) content.take(step)
  }
  const { ending } = blocks
  if (!ending) throw brokenProtocol('it has no finish reason')
  return { ...messageHead(id, model), content: content.blocks, ...ending, container: null, usage: usageObject(usage) }
}

/** Steps joined to whole blocks. */
class ContentList {
  readonly blocks: Json[] = []
  #input = ''

  take(step: Step): void {
    if (step.type === 'start') {
      this.blocks.push({ ...step.block })
      this.#input = ''
      return
    }
    const block = this.blocks.at(-1)!
    if (step.type === 'delta') this.#fill(block, step.delta)
    else if (block.type === 'tool_use') block.input = argumentsObject(this.#input)
  }

  #fill(block: Json, { type, text, thinking, signature, partial_json: json, citation }: Json): void {
    if (type === 'text_delta') block.text = `${String(block.text)}${String(text)}`
    else if (type === 'thinking_delta') block.thinking = `${String(block.thinking)}${String(thinking)}`
    else if (type === 'signature_delta') block.signature = signature
    else if (type === 'input_json_delta') this.#input += String(json)
    else ((block.citations ??= []) as unknown[]).push(citation)
  }
}
