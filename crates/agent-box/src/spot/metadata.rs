//! What the cloud tells a machine about itself: plain HTTP to an address of the link alone.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long one answer may take, from the connection on.
const PATIENCE: Duration = Duration::from_secs(3);

/// More than any answer that is wanted here, in bytes.
const MOST: u64 = 64 * 1024;

/// The service; version 2 of its protocol, where every question needs a token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metadata {
    address: SocketAddr,
}

struct Answer {
    status: u16,
    body: String,
}

impl Metadata {
    /// The service at this address.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// How the machine was bought: `spot`, `on-demand` and the like.
    pub(crate) async fn life_cycle(self) -> io::Result<String> {
        let answer = self.get("meta-data/instance-life-cycle").await?;
        match answer.status {
            200 => Ok(answer.body.trim().to_owned()),
            status => Err(io::Error::other(format!("status {status}"))),
        }
    }

    /// Whether the cloud has said that it takes the machine back.
    pub(crate) async fn is_taken_back(self) -> io::Result<bool> {
        Ok(self.get("meta-data/spot/instance-action").await?.status == 200)
    }

    async fn get(self, path: &str) -> io::Result<Answer> {
        let asked = "X-aws-ec2-metadata-token-ttl-seconds: 300";
        let token = self.ask("PUT", "api/token", asked).await?;
        // UNTRUSTED: whoever answers on the address; it becomes a header
        // (`a_token_that_is_no_token_is_not_sent`).
        if token.status != 200 || !token.body.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(io::Error::other(format!("no token, but status {}", token.status)));
        }
        self.ask("GET", path, &format!("X-aws-ec2-metadata-token: {}", token.body)).await
    }

    async fn ask(self, method: &str, path: &str, header: &str) -> io::Result<Answer> {
        let question = format!(
            "{method} /latest/{path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Length: 0\r\n{header}\r\n\r\n",
            self.address
        );
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await?;
            stream.write_all(question.as_bytes()).await?;
            let mut bytes = Vec::new();
            stream.take(MOST).read_to_end(&mut bytes).await?;
            Ok::<_, io::Error>(bytes)
        };
        let bytes = timeout(PATIENCE, exchange).await.map_err(io::Error::from)??;
        parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no HTTP answer"))
    }
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.trim_end().get(..3)?;
    Some(Answer { status: status.parse().ok()?, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_status_and_a_body() {
        let check = |text: &str, expected: Option<(u16, &str)>| {
            let answer = parse(text.as_bytes());
            let found = answer.as_ref().map(|it| (it.status, it.body.as_str()));
            assert_eq!(found, expected, "{text:?}");
        };
        check("HTTP/1.1 200 OK\r\nServer: x\r\n\r\nspot", Some((200, "spot")));
        check("HTTP/1.0 404\r\n\r\n", Some((404, "")));
        check("HTTP/1.1 200 OK\r\n", None);
        check("HTTP/1.1\r\n\r\n", None);
        check("HTTP/1.1 2\r\n\r\n", None);
        check("SSH-2.0-x\r\n\r\n", None);
        check("", None);
    }
}
