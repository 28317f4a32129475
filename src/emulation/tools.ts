/** Tool calling for models that take no tools: described in the prompt, parsed out of the text. */
import type { ChatEvent, ChatRequest } from '../core/chat.ts'
import type { ModelProfile } from '../core/deployment.ts'
import { unprocessable } from '../core/errors.ts'
import type { GatewayError } from '../core/errors.ts'
import { CallScanner } from './call-scanner.ts'
import type { Found } from './call-scanner.ts'
import { perChoice } from './decorate.ts'
import type { Emulation } from './decorate.ts'
import { withInstruction } from './messages.ts'
import { describeTools, retellCalls, tellsOfCalls } from './tool-prompt.ts'
import type { OfferedTools, WrittenCall } from './written-calls.ts'

type ChoiceEvent = Extract<ChatEvent, { choice: number }>

/** Undefined = this request reaches this model as it is. Throws `unprocessable` for tools that it cannot have. */
export function promptTools(profile: ModelProfile, request: ChatRequest): Emulation | undefined {
  const { toolCalling } = profile
  const hasTools = (request.tools?.length ?? 0) > 0
  const retell = (toolCalling !== 'native' || profile.alternateRoles) && tellsOfCalls(request.messages)
  const forced = request.toolChoice === 'required' || typeof request.toolChoice === 'object'
  const passes = toolCalling === 'native' || (toolCalling === 'forced-only' && forced)
  if (!hasTools || passes) return retell ? { request: retold } : undefined
  if (request.toolChoice === 'none') return { request: one => withoutTools(retold(one)) }
  if (toolCalling === 'none') throw toolsRefused(request)
  const offered = offeredTools(request)
  return {
    request: prompted,
    filter: () =>
      perChoice(
        () => new ChoiceCalls(request, offered, toolCalling === 'after-think'),
        (calls, event) => calls.take(event),
      ),
  }
}

const retold = (request: ChatRequest): ChatRequest => ({ ...request, messages: retellCalls(request) })

function withoutTools(request: ChatRequest): ChatRequest {
  const { tools: _tools, toolChoice: _toolChoice, parallelToolCalls: _parallelToolCalls, ...rest } = request
  return rest
}

/** Never dropped, whatever the operator allows: an agent without its tools goes astray in silence. */
function toolsRefused(request: ChatRequest): GatewayError {
  const msg = `the model '${request.model}' cannot call tools; leave tools and tool_choice out, or choose another model`
  return unprocessable([{ loc: ['body', 'tools'], msg, type: 'unsupported' }])
}

function offeredTools({ tools = [], toolChoice }: ChatRequest): OfferedTools {
  const offered = tools.filter(tool => typeof toolChoice !== 'object' || tool.name === toolChoice.name)
  return new Map(offered.map(tool => [tool.name, tool]))
}

function prompted(request: ChatRequest): ChatRequest {
  const offered = [...offeredTools(request).values()]
  const words = describeTools(offered, request.toolChoice ?? 'auto', request.parallelToolCalls !== false)
  return { ...withoutTools(request), messages: withInstruction(retellCalls(request), words) }
}

const thinkingEnd = '</think>'

/** The calls of one choice. White space around a call is the call's, unless text follows. */
class ChoiceCalls {
  readonly #scanner: CallScanner
  readonly #onlyOne: boolean
  /** false = the thinking has not ended, and calls in it are none. */
  #listens: boolean
  #reasoned = false
  /** The last characters of text before calls count: the end of the thinking may be cut anywhere. */
  #beforeListening = ''
  /** White space that waits for what follows it. */
  #space = ''
  #spaceIsKept = true
  #saidText = false
  #calls = 0
  /** Upstream number of a native call -> the number it has here. */
  readonly #native = new Map<number, number>()

  constructor(request: ChatRequest, offered: OfferedTools, afterThinking: boolean) {
    this.#scanner = new CallScanner(offered)
    this.#onlyOne = request.parallelToolCalls === false
    this.#listens = !afterThinking || request.reasoning?.enabled === false
  }

  take(event: ChoiceEvent): readonly ChatEvent[] {
    const { choice } = event
    switch (event.type) {
      case 'text':
        return this.#text(choice, event.text)
      case 'reasoning':
        this.#reasoned = true
        return [event]
      case 'finish':
        return this.#finish(event)
      case 'tool-call-start':
        this.#native.set(event.index, this.#calls)
        return [{ ...event, index: this.#calls++ }]
      case 'tool-call-arguments':
      case 'tool-call-end':
        return [{ ...event, index: this.#native.get(event.index) ?? event.index }]
      default:
        return [event]
    }
  }

  #text(choice: number, text: string): ChatEvent[] {
    // Reasoning that came apart from the text has ended where text begins.
    if (this.#reasoned) this.#listens = true
    if (this.#listens) return this.#said(choice, this.#scanner.push(text))
    const seen = this.#beforeListening + text
    const end = seen.indexOf(thinkingEnd)
    this.#beforeListening = seen.slice(1 - thinkingEnd.length)
    if (end < 0) return this.#say(choice, text)
    this.#listens = true
    const cut = end + thinkingEnd.length - (seen.length - text.length)
    return [...this.#say(choice, text.slice(0, cut)), ...this.#said(choice, this.#scanner.push(text.slice(cut)))]
  }

  #finish(event: Extract<ChatEvent, { type: 'finish' }>): ChatEvent[] {
    const { choice } = event
    const events = this.#said(choice, this.#scanner.end())
    if (this.#space !== '' && this.#calls === 0) events.push({ type: 'text', choice, text: this.#space })
    const reason = this.#calls > 0 && event.reason === 'stop' ? 'tool-calls' : event.reason
    return [...events, { ...event, reason }]
  }

  #said(choice: number, found: readonly Found[]): ChatEvent[] {
    return found.flatMap(one => ('text' in one ? this.#say(choice, one.text) : this.#call(choice, one.calls)))
  }

  #say(choice: number, text: string): ChatEvent[] {
    const words = text.trimEnd()
    if (words === '') {
      if (this.#spaceIsKept) this.#space += text
      return []
    }
    const space = this.#spaceIsKept ? '' : text.slice(0, text.length - text.trimStart().length)
    const said = this.#space + words.slice(space.length)
    this.#space = text.slice(words.length)
    this.#spaceIsKept = true
    this.#saidText = true
    return [{ type: 'text', choice, text: said }]
  }

  #call(choice: number, calls: readonly WrittenCall[]): ChatEvent[] {
    if (!this.#saidText) this.#space = ''
    // One side's white space is enough between two texts.
    this.#spaceIsKept = this.#saidText && this.#space === ''
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
