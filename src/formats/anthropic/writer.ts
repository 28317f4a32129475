/** An answer as a stream of named events (platform.claude.com/docs/en/build-with-claude/streaming). */
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import type { EventWriter } from '../../core/format.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { messageHead } from './answer.ts'
import { BlockSequence } from './blocks.ts'
import type { Step } from './blocks.ts'
import { thinkingDisplay } from './decode.ts'
import { anthropicErrorEvent, namedEvent } from './error.ts'
import { usageObject } from './usage.ts'

/** One instance a message. Throws `upstream-broken` for tool calls out of order (`BlockSequence.take`). */
export class MessagesWriter implements EventWriter {
  readonly #model: string
  readonly #blocks: BlockSequence
  #started = false
  /** Of the open block, or of the one that was stopped last. */
  #index = -1
  #usage: Usage | undefined

  constructor(model: string, request: ChatRequest) {
    this.#model = model
    this.#blocks = new BlockSequence(thinkingDisplay(request))
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'start':
        return this.#start(event.id)
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'error':
        return anthropicErrorEvent(event.error)
    }
    // A message has one choice; clients of this dialect cannot ask for more.
    if (event.choice !== 0) return ''
    let out = this.#start('')
    for (const step of this.#blocks.take(event)) out += this.#step(step)
    return out
  }

  /** Why it ended stands behind everything else, together with the counts, which come last. */
  end(): string {
    const ending = { ...this.#blocks.ending, container: null }
    const last = { type: 'message_delta', delta: ending, usage: usageObject(this.#usage) }
    return this.#start('') + named(last) + named({ type: 'message_stop' })
  }

  /** Upstreams count at the end: what they say of the input is repeated there. */
  #start(id: string): string {
    if (this.#started) return ''
    this.#started = true
    const open = { content: [], stop_reason: null, stop_sequence: null, stop_details: null, container: null }
    return named({
      type: 'message_start',
      message: { ...messageHead(id, this.#model), ...open, usage: usageObject(this.#usage) },
    })
  }

  #step(step: Step): string {
    if (step.type === 'start') {
      this.#index++
      return named({ type: 'content_block_start', index: this.#index, content_block: step.block })
    }
    if (step.type === 'stop') return named({ type: 'content_block_stop', index: this.#index })
    return named({ type: 'content_block_delta', index: this.#index, delta: step.delta })
  }
}

const named = (event: { readonly type: string; readonly [name: string]: unknown }): string =>
  namedEvent(event.type, JSON.stringify(event))
