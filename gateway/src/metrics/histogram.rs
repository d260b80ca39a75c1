//! How large things were: counts of powers of two, up to the largest request.

use super::{PREFIX, heading, read};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Up to 1, 2, 4 … 1024, which is the largest record request; above that, as `+Inf`.
const BUCKETS: usize = 11;

#[derive(Default)]
pub struct Histogram {
    /// Each size in the one bucket that it just fits; rendered cumulatively.
    buckets: [AtomicU64; BUCKETS + 1],
    sum: AtomicU64,
}

impl Histogram {
    pub fn saw(&self, size: u64) {
        let bucket = size.max(1).next_power_of_two().trailing_zeros() as usize;
        self.buckets[bucket.min(BUCKETS)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(size, Ordering::Relaxed);
    }

    /// The sum of several.
    pub fn render<'a>(parts: impl Iterator<Item = &'a Self>, name: &str, help: &str, text: &mut String) {
        let (mut buckets, mut sum) = ([0; BUCKETS + 1], 0);
        for part in parts {
            sum += read(&part.sum);
            for (total, bucket) in buckets.iter_mut().zip(&part.buckets) {
                *total += read(bucket);
            }
        }
        heading(text, name, "histogram", help);
        let mut count = 0;
        for (power, bucket) in buckets.iter().enumerate() {
            count += bucket;
            let le = match power {
                BUCKETS => "+Inf".to_owned(),
                power => (1_u64 << power).to_string(),
            };
            let _ = writeln!(text, "{PREFIX}_{name}_bucket{{le=\"{le}\"}} {count}");
        }
        let _ = writeln!(text, "{PREFIX}_{name}_sum {sum}\n{PREFIX}_{name}_count {count}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counted_cumulatively() {
        let sizes = Histogram::default();
        for size in [0, 1, 2, 3, 1024, 5000] {
            sizes.saw(size);
        }
        let mut text = String::new();

        Histogram::render([&sizes].into_iter(), "x", "sizes", &mut text);

        for line in [
            "_bucket{le=\"1\"} 2",
            "_bucket{le=\"2\"} 3",
            "_bucket{le=\"4\"} 4",
            "_bucket{le=\"1024\"} 5",
            "_bucket{le=\"+Inf\"} 6",
            "_sum 6030",
            "_count 6",
        ] {
            assert!(text.contains(&format!("counterfoil_gateway_x{line}\n")), "{line}: {text}");
        }
    }
}
