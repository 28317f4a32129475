import { useEffect, useState } from 'react'

/** Of what is typed only what stays for a moment is asked for. */
const typingMs = 250

/** The text, once it has not changed for a moment; an emptied field counts at once. */
export function useLater(text: string): string {
  const [later, setLater] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setLater(text), text === '' ? 0 : typingMs)
    return () => clearTimeout(timer)
  }, [text])
  return later
}
