// Recordings made by ourselves: the same seed gives the same sound.
//
//   tune(seed, seconds)          a melody with a beat and some hiss, as samples from -1 to 1
//   quietTalk(seed, seconds)     something like talk: bursts of buzz with pauses
//   plant(into, clip, at, gain)  adds a clip at a second
//   wavOf(samples)               the bytes of a WAV file, mono, 16 bits
export const rate = 22_050;

// Numbers from 0 to 1 (mulberry32).
export function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function tune(seed, seconds) {
  const random = randomOf(seed);
  const samples = new Float32Array(Math.round(seconds * rate));
  for (let begin = 0; begin < samples.length;) {
    const length = Math.round((0.06 + random() * 0.2) * rate);
    const notes = [0, 1].map(() => 180 * 2 ** (Math.floor(random() * 40) / 12));
    const loud = 0.15 + random() * 0.35;
    for (let i = 0; i < length && begin + i < samples.length; ++i) {
      const fades = Math.min(1, i / 60) * Math.exp((-2.5 * i) / length);
      const tone = notes.reduce((sum, hertz) => sum + Math.sin((2 * Math.PI * hertz * i) / rate) + 0.4 * Math.sin((4 * Math.PI * hertz * i) / rate), 0);
      samples[begin + i] = loud * fades * tone * 0.5 + (random() - 0.5) * 0.02;
    }
    begin += length;
  }
  return samples;
}

export function quietTalk(seed, seconds) {
  const random = randomOf(seed);
  const samples = new Float32Array(Math.round(seconds * rate));
  for (let begin = 0; begin < samples.length;) {
    const length = Math.round((0.05 + random() * 0.25) * rate);
    const isPause = random() < 0.25;
    const pitch = 90 + random() * 90;
    const formants = [300 + random() * 500, 900 + random() * 1400];
    for (let i = 0; i < length && begin + i < samples.length; ++i) {
      const swell = Math.sin((Math.PI * i) / length);
      const buzz = 2 * ((pitch * i) / rate % 1) - 1;
      const voice = formants.reduce((sum, hertz) => sum + Math.sin((2 * Math.PI * hertz * i) / rate), 0) * buzz;
      samples[begin + i] = (isPause ? 0 : 0.18 * swell * voice) + (random() - 0.5) * 0.01;
    }
    begin += length;
  }
  return samples;
}

export function plant(into, clip, at, gain = 1) {
  const begin = Math.round(at * rate);
  for (let i = 0; i < clip.length && begin + i < into.length; ++i) into[begin + i] = into[begin + i] * 0.1 + clip[i] * gain;
  return into;
}

export function wavOf(samples) {
  const bytes = Buffer.alloc(44 + samples.length * 2);
  bytes.write('RIFF', 0, 'latin1');
  bytes.writeUInt32LE(36 + samples.length * 2, 4);
  bytes.write('WAVEfmt ', 8, 'latin1');
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(rate, 24);
  bytes.writeUInt32LE(rate * 2, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36, 'latin1');
  bytes.writeUInt32LE(samples.length * 2, 40);
  samples.forEach((sample, i) => bytes.writeInt16LE(Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), 44 + i * 2));
  return bytes;
}
