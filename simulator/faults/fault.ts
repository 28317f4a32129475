/** The faults of the simulator and how they are requested: `model#name;param=value` or the header `x-simulate`. */
import { faultValue } from './parameter-values.ts'
import { suggestion } from '../lib/did-you-mean.ts'

/** A fault as listed in docs/simulator.md. Defaults apply where a request leaves a parameter out. */
export interface FaultKind {
  /** Parameters and their defaults; the first one is set by `name=value`. */
  readonly params: Readonly<Record<string, number | string>>
  readonly about: string
}

/** Default position of stream faults: after the role event and two content events. */
const atEvents = 3

const table = {
  refuse: { params: {}, about: 'closes the connection with FIN without sending a byte' },
  reset: { params: {}, about: 'closes the connection with RST without sending a byte' },
  'reset-idle': {
    params: { ms: 50, when: 'idle', how: 'fin' },
    about:
      'answers, then closes the idle connection after ms, or with when=next when the next bytes arrive; how=fin or rst',
  },
  'half-close': { params: { ms: 0 }, about: 'answers with keep-alive, sends FIN after ms and continues to read' },
  unsolicited: { params: { ms: 0 }, about: 'answers, then sends a second response without a request after ms' },
  hang: { params: {}, about: 'never answers' },
  'hang-mid': {
    params: { at: atEvents },
    about: 'stops after at events (non-streamed: half of the body); the connection stays open',
  },
  'hang-end': {
    params: { ms: 0 },
    about: 'sends all events of a stream, and ends its body only after ms (0 = never)',
  },
  slow: { params: { ms: 1000 }, about: 'waits ms before the headers' },
  'token-ms': { params: { ms: 20 }, about: 'one event each ms milliseconds; also a parameter of every other fault' },
  drip: { params: { ms: 1 }, about: 'one byte of the body each ms milliseconds' },
  cut: {
    params: { at: atEvents, bytes: 0 },
    about: 'FIN after at events and bytes more (non-streamed: after half of the body)',
  },
  'cut-clean': {
    params: { at: atEvents },
    about: 'ends the body correctly after at events (non-streamed: after half of the body)',
  },
  'cut-chunked': {
    params: { at: Infinity, bytes: 0 },
    about: 'FIN instead of the last chunk, after all events or after at',
  },
  'cut-reset': {
    params: { at: atEvents, bytes: 0 },
    about: 'RST after at events and bytes more (non-streamed: after half of the body)',
  },
  'cut-close-delimited': {
    params: { at: atEvents, bytes: 0, how: 'rst' },
    about: 'neither length nor chunks; RST (how=fin: FIN) after at events',
  },
  'close-delimited': { params: {}, about: 'neither length nor chunks; a complete response that ends with FIN' },
  'truncated-json': {
    params: {},
    about: 'the JSON of the response (streamed: of the last content event) is truncated',
  },
  'length-short': { params: { by: 10 }, about: 'content-length is by bytes too small' },
  'length-long': { params: { by: 10 }, about: 'content-length is by bytes too large; FIN follows' },
  'bad-chunk': { params: { at: 0 }, about: 'an invalid chunk size after at events' },
  'bad-status-line': { params: {}, about: 'an invalid status line' },
  'status-999': { params: {}, about: 'status 999 with a normal body' },
  'huge-headers': { params: { bytes: 1_048_576 }, about: 'one header of this many bytes' },
  'many-headers': { params: { count: 1000 }, about: 'this count of headers' },
  'invalid-utf8': { params: {}, about: 'invalid UTF-8 inside the text' },
  'split-utf8': { params: {}, about: 'every byte of the body is its own chunk and its own write' },
  'giant-event': {
    params: { bytes: 16_777_216, at: 1 },
    about: 'one event (non-streamed: the body) has a field of this many bytes',
  },
  'bad-crc': {
    params: { at: atEvents },
    about: 'a wrong checksum in the event after at events, in binary streams',
  },
  'no-done': { params: {}, about: 'a finish reason, but neither [DONE] nor message_stop' },
  'no-finish': { params: {}, about: '[DONE] or message_stop, but no finish reason' },
  'no-usage': { params: {}, about: 'no usage, even if requested' },
  'bad-usage': {
    params: { kind: 'mixed' },
    about: 'invalid numbers in the usage; kind=negative, huge, text, fraction, null or mixed',
  },
  'error-in-stream': {
    params: { at: atEvents },
    about: 'an error event after at events (non-streamed: status 500)',
  },
  'error-first': { params: {}, about: 'an error event comes first (non-streamed: status 500)' },
  '429': {
    params: { 'retry-after': '1', 'retry-after-ms': '', kind: '' },
    about: 'status 429 with these headers, none when empty; kind=quota',
  },
  status: {
    params: { code: 500, kind: '' },
    about: 'this status code; kind=quota, context-length or content-filter',
  },
  'html-error': { params: { code: 502 }, about: 'this status code with an HTML page' },
  redirect: {
    params: { to: '', code: 307 },
    about: 'a redirect; the default target is the same path under /redirected',
  },
  flaky: {
    params: { p: 0.3, code: 500 },
    about: 'fails with probability p by status code, or by RST for code=0',
  },
} as const satisfies Record<string, FaultKind>

/** As written before the parameters in `model#fault`. */
export type FaultName = keyof typeof table

/** All faults by name, with parameters and meaning. */
export const faultKinds: Readonly<Record<FaultName, FaultKind>> = table

/** A requested fault with checked parameters. Made by `parseFault`. */
export interface Fault {
  readonly name: FaultName
  /** As requested. */
  readonly spec: string
  /** A number parameter as given, or its default. */
  number(param: string): number
  /** A text parameter as given, or its default. */
  text(param: string): string
  /** Pause between two events, in milliseconds. */
  readonly tokenMs: number
}

/** An unknown fault, an unknown parameter or an invalid value; the message lists what exists. */
export class UnknownFault extends Error {}

function listing(): string {
  return Object.entries(faultKinds)
    .map(([name, kind]) => [name, ...Object.keys(kind.params)].join(';'))
    .join(', ')
}

/** Splits the fault off a model name: `gpt#cut;at=2` is the model `gpt` and the fault `cut;at=2`. */
export function splitModel(model: string): { model: string; spec?: string } {
  const at = model.indexOf('#')
  return at < 0 ? { model } : { model: model.slice(0, at), spec: model.slice(at + 1) }
}

function pairsOf(spec: string): [string, string | undefined][] {
  const bracketed = /^([^;(=]+)\((.*)\)$/.exec(spec.trim())
  const parts = bracketed ? [bracketed[1]!, ...bracketed[2]!.split(',')] : spec.split(';')
  return parts.map(part => {
    const at = part.indexOf('=')
    return at < 0 ? [part.trim(), undefined] : [part.slice(0, at).trim(), part.slice(at + 1).trim()]
  })
}

function parameterValue(name: FaultName, param: string, text: string): number | string {
  const read = faultValue(name, param, text)
  if ('value' in read) return read.value
  throw new UnknownFault(`"${param}" of fault "${name}" must be ${read.expected}; got "${text.slice(0, 80)}"`)
}

/** Reads `name`, `name=value`, `name;param=value` or `name(param=value)`. Throws UnknownFault. */
export function parseFault(spec: string): Fault {
  const [[name, value] = ['', undefined], ...params] = pairsOf(spec)
  if (!Object.hasOwn(faultKinds, name))
    throw new UnknownFault(
      `unknown fault "${name}"${suggestion(name, Object.keys(faultKinds))}; there are: ${listing()}`,
    )
  const known: Record<string, number | string> = { ...faultKinds[name as FaultName].params }
  const values: Record<string, number | string> = { 'token-ms': 0, ...known }
  if (value !== undefined) params.unshift([Object.keys(known)[0] ?? '', value])
  const seen = new Set<string>()
  for (const [param, text] of params) {
    if (!Object.hasOwn(values, param)) {
      const near = suggestion(param, Object.keys(values))
      throw new UnknownFault(`fault "${name}" has no parameter "${param}"${near}; there are: ${listing()}`)
    }
    if (seen.has(param)) throw new UnknownFault(`"${param}" of fault "${name}" is given twice; leave one out`)
    seen.add(param)
    values[param] = parameterValue(name as FaultName, param, text ?? '')
  }
  return {
    name: name as FaultName,
    spec,
    number: param => Number(values[param]),
    text: param => String(values[param]),
    tokenMs: Number(name === 'token-ms' ? values.ms : values['token-ms']),
  }
}
