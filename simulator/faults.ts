/**
 * The faults the simulator knows, and how they are asked for: `model#name;param=value` or the header
 * `x-simulate`.
 */
import { faultValue } from './fault-values.ts'
import { suggestion } from './nearest.ts'

/** A fault as docs/simulator.md lists it. The defaults are for requests that leave a parameter out. */
export interface FaultKind {
  /** Parameters and their defaults; the first also takes the value of `name=value`. */
  readonly params: Readonly<Record<string, number | string>>
  readonly about: string
}

/** Where a stream is disturbed unless the fault says otherwise: after the role and two words. */
const atEvents = 3

const table = {
  refuse: { params: {}, about: 'takes the request and closes (FIN) without a byte' },
  reset: { params: {}, about: 'takes the request and resets (RST) without a byte' },
  'reset-idle': {
    params: { ms: 50, when: 'idle', how: 'fin' },
    about: 'answers, then closes the idle connection after ms; when=next: on the next bytes; how=fin or rst',
  },
  'half-close': { params: { ms: 0 }, about: 'answers, keeps alive, sends FIN after ms and goes on reading' },
  unsolicited: { params: { ms: 0 }, about: 'answers, then sends an answer nobody asked for after ms' },
  hang: { params: {}, about: 'never answers' },
  'hang-mid': {
    params: { at: atEvents },
    about: 'stops after at events (half of a whole answer) and stays open',
  },
  'hang-end': {
    params: { ms: 0 },
    about: 'says all of a stream, and ends its body only after ms (0 = never)',
  },
  slow: { params: { ms: 1000 }, about: 'waits ms before the headers' },
  'token-ms': { params: { ms: 20 }, about: 'one event each ms; also a parameter of every other fault' },
  drip: { params: { ms: 1 }, about: 'one byte of the body each ms' },
  cut: {
    params: { at: atEvents, bytes: 0 },
    about: 'FIN after at events and bytes more; half of a whole answer',
  },
  'cut-clean': {
    params: { at: atEvents },
    about: 'ends after at events as if all were said: framing is intact',
  },
  'cut-chunked': {
    params: { at: Infinity, bytes: 0 },
    about: 'FIN instead of the last chunk; at events if given',
  },
  'cut-reset': { params: { at: atEvents, bytes: 0 }, about: 'RST after at events and bytes more' },
  'cut-close-delimited': {
    params: { at: atEvents, bytes: 0, how: 'rst' },
    about: 'neither length nor chunks, RST (how=fin: FIN) after at events',
  },
  'close-delimited': { params: {}, about: 'neither length nor chunks: a whole answer that ends with FIN' },
  'truncated-json': { params: {}, about: 'the JSON of the answer (of its last content event) ends early' },
  'length-short': { params: { by: 10 }, about: 'content-length says by bytes too few' },
  'length-long': { params: { by: 10 }, about: 'content-length says by bytes too many, then FIN' },
  'bad-chunk': { params: { at: 0 }, about: 'a chunk size that is no number after at events' },
  'bad-status-line': { params: {}, about: 'a status line that is none' },
  'status-999': { params: {}, about: 'the status 999 over a good answer' },
  'huge-headers': { params: { bytes: 1_048_576 }, about: 'a header of bytes' },
  'many-headers': { params: { count: 1000 }, about: 'count headers' },
  'invalid-utf8': { params: {}, about: 'bytes that are no UTF-8 inside of the text' },
  'split-utf8': { params: {}, about: 'every byte of the body is a chunk and a write of its own' },
  'giant-event': { params: { bytes: 16_777_216, at: 1 }, about: 'one event (one text) of bytes' },
  'bad-crc': {
    params: { at: atEvents },
    about: 'a wrong checksum in the event after at events of a binary stream',
  },
  'no-done': { params: {}, about: 'a finish reason, but no [DONE] or message_stop' },
  'no-finish': { params: {}, about: '[DONE] or message_stop, but no finish reason' },
  'no-usage': { params: {}, about: 'no usage, asked for or not' },
  'bad-usage': { params: { kind: 'mixed' }, about: 'kind=negative, huge, text, fraction, null or mixed' },
  'error-in-stream': {
    params: { at: atEvents },
    about: 'an error event after at events; a whole answer is status 500',
  },
  'error-first': { params: {}, about: 'an error event is the first; a whole answer is status 500' },
  '429': {
    params: { 'retry-after': '1', 'retry-after-ms': '', kind: '' },
    about: 'status 429; the headers as given, none when empty; kind=quota',
  },
  status: {
    params: { code: 500, kind: '' },
    about: 'status code; kind=quota, context-length or content-filter',
  },
  'html-error': { params: { code: 502 }, about: 'status code with a page of HTML' },
  redirect: {
    params: { to: '', code: 307 },
    about: 'a redirect; without to: to the same path under /redirected',
  },
  flaky: {
    params: { p: 0.3, code: 500 },
    about: 'with chance p fails by status code, or reset for code=0',
  },
} as const satisfies Record<string, FaultKind>

/** As it stands before the parameters in `model#fault`. */
export type FaultName = keyof typeof table

/** All faults by name, with parameters and meaning. */
export const faultKinds: Readonly<Record<FaultName, FaultKind>> = table

/** A fault that a request asks for, its parameters checked. Made by `parseFault`. */
export interface Fault {
  readonly name: FaultName
  /** As asked for. */
  readonly spec: string
  /** A number parameter: as given, or its default. */
  number(param: string): number
  /** A text parameter: as given, or its default. */
  text(param: string): string
  /** Pause between two events. */
  readonly tokenMs: number
}

/** A fault nobody knows, a parameter it does not have, or a value that cannot be; the message says what there is. */
export class UnknownFault extends Error {}

function listing(): string {
  return Object.entries(faultKinds)
    .map(([name, kind]) => [name, ...Object.keys(kind.params)].join(';'))
    .join(', ')
}

/** The name a request asks for, without its fault: `gpt#cut;at=2` is model `gpt` and spec `cut;at=2`. */
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
