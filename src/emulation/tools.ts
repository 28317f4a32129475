/** Tool calling for models without it: tools are described in the prompt, calls are parsed out of the text. */
import type { ChatEvent, ChatRequest } from '../core/hub/chat.ts'
import type { ModelProfile } from '../core/deployment.ts'
import { unprocessable } from '../core/errors.ts'
import type { GatewayError } from '../core/errors.ts'
import { CallScanner } from './tool-call-scanner.ts'
import type { Found } from './tool-call-scanner.ts'
import { perChoice } from './decorate.ts'
import type { Emulation } from './decorate.ts'
import { withInstruction } from './messages.ts'
import { describeTools, toolCallsAsText, hasToolParts } from './tool-prompt.ts'
import type { OfferedTools, ParsedCall } from './tool-call-notations.ts'

type ChoiceEvent = Extract<ChatEvent, { choice: number }>

/** Undefined = the request needs no change. Throws `unprocessable` for tools where the model cannot call any. */
export function promptTools(profile: ModelProfile, request: ChatRequest): Emulation | undefined {
  const { toolCalling } = profile
  const hasTools = (request.tools?.length ?? 0) > 0
  const hasPastCalls = (toolCalling !== 'native' || profile.alternateRoles) && hasToolParts(request.messages)
  const forced = request.toolChoice === 'required' || typeof request.toolChoice === 'object'
  const passes = toolCalling === 'native' || (toolCalling === 'forced-only' && forced)
  if (!hasTools || passes) return hasPastCalls ? { request: withToolCallsAsText } : undefined
  if (request.toolChoice === 'none') return { request: one => withoutTools(withToolCallsAsText(one)) }
  if (toolCalling === 'none') throw toolsUnsupported(request)
  const offered = offeredTools(request)
  return {
    request: withToolPrompt,
    filter: () =>
      perChoice(
        () => new ToolCallExtractor(request, offered, toolCalling === 'after-think'),
        (calls, event) => calls.take(event),
      ),
  }
}

const withToolCallsAsText = (request: ChatRequest): ChatRequest => ({ ...request, messages: toolCallsAsText(request) })

function withoutTools(request: ChatRequest): ChatRequest {
  const { tools: _tools, toolChoice: _toolChoice, parallelToolCalls: _parallelToolCalls, ...rest } = request
  return rest
}

/** Tools are never dropped, also not with `drop_params`: an agent without its tools fails without any error. */
function toolsUnsupported(request: ChatRequest): GatewayError {
  const msg = `the model '${request.model}' cannot call tools; leave tools and tool_choice out, or choose another model`
  return unprocessable([{ loc: ['body', 'tools'], msg, type: 'unsupported' }])
}

function offeredTools({ tools = [], toolChoice }: ChatRequest): OfferedTools {
  const offered = tools.filter(tool => typeof toolChoice !== 'object' || tool.name === toolChoice.name)
  return new Map(offered.map(tool => [tool.name, tool]))
}

function withToolPrompt(request: ChatRequest): ChatRequest {
  const offered = [...offeredTools(request).values()]
  const instruction = describeTools(offered, request.toolChoice ?? 'auto', request.parallelToolCalls !== false)
  return { ...withoutTools(request), messages: withInstruction(toolCallsAsText(request), instruction) }
}

const thinkingEnd = '</think>'

/** Replaces the calls in the text of one choice by tool-call events. White space around a call is dropped with it. */
class ToolCallExtractor {
  readonly #scanner: CallScanner
  readonly #onlyOne: boolean
  /** false = the text is still thinking, and what looks like a call in it is not one. */
  #parsesCalls: boolean
  #hasReasoning = false
  /** The last characters of the thinking: its closing tag may be split between pieces. */
  #tail = ''
  /** Trailing white space, buffered until text or a call follows. */
  #space = ''
  #keepsSpace = true
  #hasText = false
  #calls = 0
  /** Index of a native call as the upstream numbers it -> its index in this answer. */
  readonly #nativeIndexes = new Map<number, number>()

  constructor(request: ChatRequest, offered: OfferedTools, afterThinking: boolean) {
    this.#scanner = new CallScanner(offered)
    this.#onlyOne = request.parallelToolCalls === false
    this.#parsesCalls = !afterThinking || request.reasoning?.enabled === false
  }

  take(event: ChoiceEvent): readonly ChatEvent[] {
    const { choice } = event
    switch (event.type) {
      case 'text':
        return this.#text(choice, event.text)
      case 'reasoning':
        this.#hasReasoning = true
        return [event]
      case 'finish':
        return this.#finish(event)
      case 'tool-call-start':
        this.#nativeIndexes.set(event.index, this.#calls)
        return [{ ...event, index: this.#calls++ }]
      case 'tool-call-arguments':
      case 'tool-call-end':
        return [{ ...event, index: this.#nativeIndexes.get(event.index) ?? event.index }]
      default:
        return [event]
    }
  }

  #text(choice: number, text: string): ChatEvent[] {
    // Reasoning that the host sends in a field of its own has ended where text begins.
    if (this.#hasReasoning) this.#parsesCalls = true
    if (this.#parsesCalls) return this.#emitFound(choice, this.#scanner.push(text))
    const seen = this.#tail + text
    const end = seen.indexOf(thinkingEnd)
    this.#tail = seen.slice(1 - thinkingEnd.length)
    if (end < 0) return this.#emitText(choice, text)
    this.#parsesCalls = true
    const cut = end + thinkingEnd.length - (seen.length - text.length)
    return [
      ...this.#emitText(choice, text.slice(0, cut)),
      ...this.#emitFound(choice, this.#scanner.push(text.slice(cut))),
    ]
  }

  #finish(event: Extract<ChatEvent, { type: 'finish' }>): ChatEvent[] {
    const { choice } = event
    const events = this.#emitFound(choice, this.#scanner.end())
    if (this.#space !== '' && this.#calls === 0) events.push({ type: 'text', choice, text: this.#space })
    const reason = this.#calls > 0 && event.reason === 'stop' ? 'tool-calls' : event.reason
    return [...events, { ...event, reason }]
  }

  #emitFound(choice: number, found: readonly Found[]): ChatEvent[] {
    return found.flatMap(one => ('text' in one ? this.#emitText(choice, one.text) : this.#emitCalls(choice, one.calls)))
  }

  #emitText(choice: number, text: string): ChatEvent[] {
    const trimmed = text.trimEnd()
    if (trimmed === '') {
      if (this.#keepsSpace) this.#space += text
      return []
    }
    const space = this.#keepsSpace ? '' : text.slice(0, text.length - text.trimStart().length)
    const emitted = this.#space + trimmed.slice(space.length)
    this.#space = text.slice(trimmed.length)
    this.#keepsSpace = true
    this.#hasText = true
    return [{ type: 'text', choice, text: emitted }]
  }

  #emitCalls(choice: number, calls: readonly ParsedCall[]): ChatEvent[] {
    if (!this.#hasText) this.#space = ''
    // White space on one side of the call is enough to separate the two texts around it.
    this.#keepsSpace = this.#hasText && this.#space === ''
    const taken = this.#onlyOne ? calls.slice(0, this.#calls === 0 ? 1 : 0) : calls
    return taken.flatMap(call => {
      const index = this.#calls++
      const id = `call_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`
      return [
        { type: 'tool-call-start', choice, index, id, name: call.name },
        { type: 'tool-call-arguments', choice, index, fragment: call.arguments },
        { type: 'tool-call-end', choice, index },
      ] satisfies ChatEvent[]
    })
  }
}
