/** One attack, in a process of its own: `attacker.ts PORT SECONDS KEY ASSETS NAME`. Ends by itself. */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { attacks } from './attacks.ts'
import type { AttackSocket } from './attacks.ts'

const tickMs = 100
/** New connections a tick: 200 a second. */
const opensPerTick = 20
/** A socket that the gateway does not read is given no more than this. */
const unsentBytesMax = 4 * 1024 * 1024

const [port, seconds, key, assets, name] = process.argv.slice(2)
const attack = attacks(key!, assets!.split(',')).find(one => one.name === name)
if (!attack) throw new Error(`there is no attack '${name}'`)

class Attacker implements AttackSocket {
  ticks = 0
  closed = false
  readonly #socket: Socket

  constructor() {
    this.#socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    this.#socket.on('connect', () => attack!.open(this))
    this.#socket.on('data', () => {})
    // A FIN of the gateway is not answered: how long it holds its place then is what is measured.
    for (const event of ['end', 'error', 'close']) this.#socket.on(event, () => (this.closed = true))
  }

  send(bytes: string | Uint8Array): void {
    if (this.closed || this.#socket.writableLength > unsentBytesMax) return
    this.#socket.write(bytes)
  }

  stopReading(): void {
    this.#socket.pause()
  }

  tick(): void {
    this.ticks++
    if (this.#socket.readyState === 'open') attack!.tick?.(this)
  }
}

let sockets: Attacker[] = []
setInterval(() => {
  sockets = sockets.filter(({ closed }) => !closed)
  for (const socket of sockets) socket.tick()
  for (let opened = 0; opened < opensPerTick && sockets.length < attack.sockets; opened++) sockets.push(new Attacker())
}, tickMs)
setTimeout(() => process.exit(0), Number(seconds) * 1000)
