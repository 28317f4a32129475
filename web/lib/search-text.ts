/** A text that is searched for: in the address, and asked for when the typing pauses. */
import { useEffect, useRef, useState } from 'react'
import { useSearchValue } from './address.ts'

const pauseMs = 300

/**
 * `text` is what the field shows, `searched` what the address has and lists are asked with: without the spaces around.
 * Where a link or the back button changes the address, the field follows.
 */
export function useSearchText(name = 'q'): { text: string; searched: string; type: (text: string) => void } {
  const [searched, setSearched] = useSearchValue(name)
  const [text, type] = useState(searched)
  /** What this field wrote into the address and has not seen there yet. */
  const written = useRef(new Set<string>())
  useEffect(() => {
    if (!written.current.delete(searched)) type(searched)
  }, [searched])
  useEffect(() => {
    const wanted = text.trim()
    if (wanted === searched) return undefined
    const timer = setTimeout(() => {
      written.current.add(wanted)
      setSearched(wanted)
    }, pauseMs)
    return () => clearTimeout(timer)
  }, [text, searched, setSearched])
  return { text, searched, type }
}
