import { useEffect, useState } from 'react'

/** How long "copied" is shown. */
const shownMs = 2000

/** Copies a text, and says for two seconds that it did. */
export function useCopy(): { copied: boolean; copy: (text: string) => Promise<boolean> } {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return undefined
    const timer = setTimeout(() => setCopied(false), shownMs)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = async (text: string) => {
    const done = await writeClipboard(text)
    setCopied(done)
    return done
  }
  return { copied, copy }
}

/** true = it is in the clipboard. Pages that are not served over https have none: there the old way is used. */
export async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.setAttribute('aria-hidden', 'true')
    area.className = 'fixed opacity-0'
    const focused = document.activeElement
    // Inside of an open dialog, which keeps the focus.
    ;(focused?.closest('[role=dialog]') ?? document.body).append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    if (focused instanceof HTMLElement) focused.focus()
    return done
  }
}
