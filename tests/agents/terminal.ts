/** A program in a terminal of its own (a pseudo-terminal), and a person who reads it and presses keys. */

/** What a person presses when the screen says so. */
export interface Step {
  readonly sees: RegExp
  readonly presses: string
}

interface Options {
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
}

export const keys = { enter: '\r', up: '\u001b[A', down: '\u001b[B' } as const

const esc = '\u001b'
/** Titles and links, moves and colours, and the rest of what draws and says nothing. */
const drawing = new RegExp(
  `${esc}\\][^\u0007${esc}]*(?:\u0007|${esc}\\\\)|${esc}\\[[0-9;?<>=]*[A-Za-z]|${esc}[()>=78].?`,
  'g',
)

/** Runs until `close`. */
export class Terminal {
  #drawn = ''
  #readTo = 0
  readonly #child: ReturnType<typeof Bun.spawn>

  constructor(words: readonly string[], { cwd, environment }: Options) {
    const data = (_: unknown, bytes: Uint8Array) => void (this.#drawn += Buffer.from(bytes).toString())
    this.#child = Bun.spawn([...words], {
      cwd,
      env: { ...environment, TERM: 'xterm-256color' },
      terminal: { cols: 120, rows: 40, data },
    })
  }

  /** Everything that was drawn so far, without blanks: programs draw some by moves. */
  get text(): string {
    return this.#drawn.replace(drawing, '').replace(/\s+/g, '')
  }

  /** Waits for what stands on the screen since the step before. */
  async sees(pattern: RegExp, withinMs = 30_000): Promise<string> {
    const endMs = performance.now() + withinMs
    for (;;) {
      const fresh = this.text.slice(this.#readTo)
      const found = pattern.exec(fresh)
      if (found) {
        this.#readTo += found.index + found[0].length
        return found[1] ?? found[0]
      }
      if (performance.now() > endMs) throw new Error(`the screen does not show ${pattern}: ${fresh.slice(-600)}`)
      await Bun.sleep(50)
    }
  }

  async follow(steps: readonly Step[]): Promise<void> {
    for (const { sees, presses } of steps) {
      await this.sees(sees)
      // What is drawn is not yet listened to.
      await Bun.sleep(300)
      this.#child.terminal!.write(presses)
    }
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#child.exited
  }
}
