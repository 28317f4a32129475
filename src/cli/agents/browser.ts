/** Opens a page in the browser of this person. */
import type { Environment } from '../../config/environment.ts'

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
}

/** Nothing happens where there is no browser: the address is on the screen. BROWSER names another command. */
export function openBrowser(address: string, environment: Environment): void {
  const command = environment.BROWSER ? [environment.BROWSER] : openers[process.platform]
  if (!command) return
  try {
    Bun.spawn([...command, new URL(address).href], {
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
      env: { ...environment },
    }).unref()
  } catch {
    // There is no such command.
  }
}
